import { json } from '@sveltejs/kit'
import { cache } from '#lib/server/cache.ts'
import { ask } from '#lib/server/source.ts'
import type { RequestHandler } from './$types'

export const GET: RequestHandler = async ({ params, setHeaders }) => {
  setHeaders({ 'cache-tag': `api-${params.id}` })
  return json({ text: await ask(`api-${params.id}`) })
}

/** By its tag, for it has not the host of those who read. */
export const DELETE: RequestHandler = async ({ params }) => {
  await cache.invalidateTags([`api-${params.id}`])
  return new Response(null, { status: 204 })
}
