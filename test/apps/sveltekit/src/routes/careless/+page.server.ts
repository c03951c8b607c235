import { ask } from '#lib/server/source.ts'
import type { PageServerLoad } from './$types'

export const load: PageServerLoad = async ({ cookies }) => ({ text: `${cookies.get('a')}: ${await ask('careless')}` })
