import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { hostField } from '../message/http2.ts'

// RFC 3986 section 3.2: with a delimiter in it, another host and target would make the same address.
const hostCharacters = /^[\w.:[\]~!$&'()*+,;=%-]*$/

/**
 * The address that a client asked for, as it did: scheme and host of the connection, and the target as it was sent; `null`
 * for what is none.
 */
export function addressOf(request: IncomingMessage): string | null {
  const { [hostField(request)]: host = '' } = request.headers
  const { originalUrl = request.url ?? '/' } = request as { originalUrl?: string }
  const scheme = (request.socket as { encrypted?: boolean } | null)?.encrypted === true ? 'https' : 'http'
  if (!originalUrl.startsWith('/') || typeof host !== 'string' || !hostCharacters.test(host)) return null
  return `${scheme}://${host.toLowerCase()}${originalUrl}`
}

/** The URL that handlers go by, where an earlier middleware has made it another than the client's; `null` where it is that. */
export function rewrittenUrl(request: IncomingMessage): string | null {
  const { url = '/' } = request
  const { originalUrl = url, baseUrl = '' } = request as { originalUrl?: string; baseUrl?: string }
  if (baseUrl === '' && url === originalUrl) return null
  // What mounts a router takes the beginning off, and leaves a slash.
  const rest = originalUrl.startsWith(baseUrl) ? originalUrl.slice(baseUrl.length) : null
  return rest !== null && url === (rest.startsWith('/') ? rest : `/${rest}`) ? null : `${baseUrl}${url}`
}

/** The key of the responses of an address. No value of the user's has such a key but by purpose. */
export function responseKey(address: string): string {
  return `response ${address}`
}

/** The key of one of several variants. @param selected what the request says of what they differ by */
export function variantKey(key: string, selected: string): string {
  // No address has a blank in it.
  return `${key} ${createHash('sha256').update(selected).digest('base64url').slice(0, 27)}`
}
