import { ask } from '#lib/server/source.ts'
import type { Actions, PageServerLoad } from './$types'

export const load: PageServerLoad = async ({ params }) => ({ text: await ask(`page-${params.id}`) })

export const actions: Actions = { default: async () => {} }
