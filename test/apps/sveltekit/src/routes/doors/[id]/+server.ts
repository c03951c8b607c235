import { cache } from '#lib/server/cache.ts'
import { ask } from '#lib/server/source.ts'
import type { RequestHandler } from './$types'

const [ttl, grace] = [process.env.TTL, process.env.GRACE].map((time) => Number(time) / 1_000)

/** A value with a lifetime of its own. */
export const GET: RequestHandler = async ({ params, setHeaders }) => {
  setHeaders({ 'cache-control': `max-age=${ttl}, stale-while-revalidate=${grace}`, 'cache-tag': params.id })
  return new Response(await ask(params.id))
}

export const POST: RequestHandler = async ({ params }) => {
  await cache.invalidateTags([params.id])
  return new Response(null, { status: 204 })
}
