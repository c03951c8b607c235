import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Cache } from '../core/cache/cache.ts'
import { CacheError } from '../core/errors.ts'
import { formatValue } from '../core/time/duration.ts'
import { responseKey } from './stored/request-key.ts'

/** What is to go: responses of addresses, of tags, or of all addresses that begin alike. */
export interface Purge {
  /** Addresses as clients ask for them, with scheme and host: `http://shop.example/products/7`. Variants go along. */
  readonly urls?: readonly string[] | undefined
  readonly tags?: readonly string[] | undefined
  /** The beginning of addresses, up to a slash, where the cache has `prefixes: '/'`: `http://shop.example/products/`. */
  readonly prefix?: string | undefined
}

/**
 * Voids stored responses. Once it resolves, nobody in the fleet who asks from then on is given one whose handler began before.
 * @param cache the one that `cacheResponses` was given
 * @throws TypeError for what is none of these, or nothing; `CacheError` STORE_UNAVAILABLE, CLOSED
 */
export async function purge(cache: Cache, { urls = [], tags = [], prefix }: Purge): Promise<void> {
  if (urls.length === 0 && tags.length === 0 && prefix === undefined) {
    throw new TypeError('Expected `urls`, `tags` or `prefix` to say what is to be purged, got nothing')
  }
  for (const url of prefix === undefined ? urls : [...urls, prefix]) checkAddress(url)
  await Promise.all([
    ...urls.map((url) => cache.invalidate(responseKey(url))),
    ...(tags.length === 0 ? [] : [cache.invalidateTags(tags)]),
    ...(prefix === undefined ? [] : [cache.invalidatePrefix(responseKey(prefix))]),
  ])
}

/** How a `purgeRouter` knows who may purge. */
export interface PurgeRouterOptions {
  /** What `Authorization: Bearer …` must say, at least 16 characters. */
  readonly token: string
}

/**
 * A middleware to be mounted where purging is wanted: a POST with `Authorization: Bearer` and the token voids what the query
 * says, `?url=…&tag=…&prefix=…`, each as often as needed but the prefix. Answers 204; 400, 401, 405 or 503 with the reason.
 * @param cache the one that `cacheResponses` was given
 * @throws TypeError for a token that is too short
 */
export function purgeRouter(
  cache: Cache,
  { token }: PurgeRouterOptions,
): (request: IncomingMessage, response: ServerResponse) => void {
  if (typeof token !== 'string' || token.length < 16) {
    const got = typeof token === 'string' ? `one of ${token.length}` : formatValue(token)
    throw new TypeError(`Expected \`token\` to be a string of at least 16 characters, got ${got}`)
  }
  const expected = digest(`Bearer ${token}`)
  return (request, response) => {
    const answer = (status: number, text = '', fields: Record<string, string> = {}): void => {
      response.writeHead(status, {
        'Cache-Control': 'no-store',
        ...(text === '' ? {} : { 'Content-Type': 'text/plain' }),
        ...fields,
      })
      response.end(text)
    }
    if (!timingSafeEqual(expected, digest(request.headers.authorization ?? ''))) {
      return answer(401, 'Expected the token\n', { 'WWW-Authenticate': 'Bearer' })
    }
    if (request.method !== 'POST') return answer(405, 'Expected a POST\n', { Allow: 'POST' })
    purge(cache, askedIn(request.url ?? '')).then(
      () => answer(204),
      (error: unknown) => answer(error instanceof CacheError ? 503 : 400, `${(error as Error).message}\n`),
    )
  }
}

function askedIn(target: string): Purge {
  const query = new URLSearchParams(target.slice(target.indexOf('?') + 1))
  return { urls: query.getAll('url'), tags: query.getAll('tag'), prefix: query.get('prefix') ?? undefined }
}

function checkAddress(url: unknown): void {
  if (typeof url === 'string' && /^https?:\/\/[^/]+\//.test(url)) return
  throw new TypeError(`Expected an address with scheme, host and path to be purged, got ${formatValue(url)}`)
}

/** Of one length, whatever it is of: so that the time it takes to compare tells nothing. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
