import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Cache } from '../core/cache/cache.ts'
import { CacheError } from '../core/errors.ts'
import { invalidationOf } from '../core/options/plan.ts'
import { formatValue, type Duration } from '../core/time/duration.ts'
import { normalizedAddress, responseKey } from './stored/request-key.ts'

/** The responses to invalidate: by address, by tag, or by the prefix of addresses. */
export interface Purge {
  /**
   * Addresses as clients send them, with scheme and host: `http://shop.example/products/7`. Their variants are
   * included.
   */
  readonly urls?: readonly string[] | undefined
  readonly tags?: readonly string[] | undefined
  /** A prefix of addresses that ends with a slash: `http://shop.example/products/`. The cache needs `prefixes: '/'`. */
  readonly prefix?: string | undefined
  /** Whether to make the responses stale instead of voiding them. Default `false`. */
  readonly soft?: boolean | undefined
  /** How long they may be served stale at most, with `soft`. Default: as long as they themselves allow. */
  readonly within?: Duration | undefined
}

/**
 * Invalidates stored responses. After it has resolved, no new request in the fleet is answered with a response whose
 * handler began before the purge. With `soft`, such a response is stale: it is served as `stale-while-revalidate` and
 * `stale-if-error` allow, or validated. Responses that vary are voided by a soft purge too, unless it is by tag.
 * @param cache the cache that `cacheResponses` was given
 * @throws TypeError if there is nothing to purge, for an invalid address, tag or prefix, or for `within` without `soft`
 * @throws CacheError STORE_UNAVAILABLE, CLOSED
 */
export async function purge(cache: Cache, { urls = [], tags = [], prefix, soft, within }: Purge): Promise<void> {
  if (urls.length === 0 && tags.length === 0 && prefix === undefined) {
    throw new TypeError('Expected `urls`, `tags` or `prefix` to say what is to be purged, got nothing')
  }
  const how = { soft, within }
  const isHard = invalidationOf('purge', how) === 'hard'
  const keys = urls.map(keyOfAddress)
  const begin = prefix === undefined ? null : keyOfAddress(prefix)
  await Promise.all([
    ...keys.map((key) => (isHard ? cache.invalidate(key) : cache.expire(key, { within }))),
    ...(tags.length === 0 ? [] : [cache.invalidateTags(tags, how)]),
    ...(begin === null ? [] : [cache.invalidatePrefix(begin, how)]),
  ])
}

/** The options of `purgeRouter`. */
export interface PurgeRouterOptions {
  /** The token that `Authorization: Bearer …` must contain, at least 16 characters. */
  readonly token: string
}

/**
 * A middleware that invalidates responses on request. A POST with `Authorization: Bearer` and the token purges the
 * responses named by its query, `?url=…&tag=…&prefix=…`; `url` and `tag` may be repeated, and with `soft=1` the purge is
 * soft, with `within=1m` for no longer. It answers 204, or 400, 401, 405 or 503 with the reason as text.
 * @param cache the cache that `cacheResponses` was given
 * @param options.token at least 16 characters
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
  const expected = digest(token)
  return (request, response) => {
    const answer = (status: number, text = '', fields: Record<string, string> = {}): void => {
      response.writeHead(status, {
        'Cache-Control': 'no-store',
        ...(text === '' ? {} : { 'Content-Type': 'text/plain' }),
        ...fields,
      })
      response.end(text)
    }
    if (!timingSafeEqual(expected, digest(bearerIn(request.headers.authorization)))) {
      return answer(401, 'Expected the token\n', { 'WWW-Authenticate': 'Bearer' })
    }
    if (request.method !== 'POST') return answer(405, 'Expected a POST\n', { Allow: 'POST' })
    purged(cache, request.url ?? '').then(
      () => answer(204),
      (error: unknown) => answer(error instanceof CacheError ? 503 : 400, `${(error as Error).message}\n`),
    )
  }
}

/** The token of a request; the scheme is case-insensitive (RFC 9110 section 11.1). */
function bearerIn(authorization = ''): string {
  return /^bearer +(.+)$/i.exec(authorization)?.[1] ?? ''
}

async function purged(cache: Cache, target: string): Promise<void> {
  await purge(cache, askedIn(target))
}

function askedIn(target: string): Purge {
  const query = new URLSearchParams(target.slice(target.indexOf('?') + 1))
  const soft = query.get('soft') ?? '0'
  if (soft !== '0' && soft !== '1') throw new TypeError(`Expected \`soft\` to be 0 or 1, got ${formatValue(soft)}`)
  const prefix = query.get('prefix') ?? undefined
  const within = (query.get('within') ?? undefined) as Duration | undefined
  return { urls: query.getAll('url'), tags: query.getAll('tag'), prefix, soft: soft === '1', within }
}

/**
 * The key of the responses of an address, or the beginning of several.
 * @throws TypeError for no address whose responses may be stored
 */
export function keyOfAddress(url: unknown): string {
  if (typeof url === 'string' && /^https?:\/\/[^/]+\//i.test(url)) return responseKey(normalizedAddress(url))
  throw new TypeError(`Expected an address with scheme, host and path to be purged, got ${formatValue(url)}`)
}

/** Hashes a text, so that `timingSafeEqual` gets two buffers of one length. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
