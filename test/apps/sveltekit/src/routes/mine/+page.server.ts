import { ask } from '#lib/server/source.ts'
import type { PageServerLoad } from './$types'

export const load: PageServerLoad = async ({ locals }) => ({ text: `${locals.user}: ${await ask('mine')}` })
