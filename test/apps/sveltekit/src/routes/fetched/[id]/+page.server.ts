import type { PageServerLoad } from './$types'

export const load: PageServerLoad = async ({ fetch, params }) => await (await fetch(`/api/${params.id}`)).json()
