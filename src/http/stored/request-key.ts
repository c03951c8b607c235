import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { hostField } from '../message/http2.ts'

// RFC 3986 section 3.2: with a delimiter in the host, two different pairs of host and target could make one address.
const hostCharacters = /^[\w.:[\]~!$&'()*+,;=%-]*$/

/**
 * The address that a client asked for: scheme and host of the connection, and the target as sent; `null` if they make
 * no address.
 */
export function addressOf(request: IncomingMessage): string | null {
  const { [hostField(request)]: host = '' } = request.headers
  const { originalUrl = request.url ?? '/' } = request as { originalUrl?: string }
  const scheme = (request.socket as { encrypted?: boolean } | null)?.encrypted === true ? 'https' : 'http'
  if (!originalUrl.startsWith('/') || typeof host !== 'string' || !hostCharacters.test(host)) return null
  return `${scheme}://${host.toLowerCase()}${originalUrl}`
}

/** The URL that handlers see after an earlier middleware has rewritten it; `null` if it is the URL of the client. */
export function rewrittenUrl(request: IncomingMessage): string | null {
  const { url = '/' } = request
  const { originalUrl = url, baseUrl = '' } = request as { originalUrl?: string; baseUrl?: string }
  if (baseUrl === '' && url === originalUrl) return null
  // A mounted router sees the URL without the prefix, and with a leading slash.
  const rest = originalUrl.startsWith(baseUrl) ? originalUrl.slice(baseUrl.length) : null
  return rest !== null && url === (rest.startsWith('/') ? rest : `/${rest}`) ? null : `${baseUrl}${url}`
}

/** The key of the responses of an address. Its prefix keeps it apart from the keys of the user. */
export function responseKey(address: string): string {
  return `response ${address}`
}

/** An address as the keys have it: scheme and host in lower case (RFC 3986 section 6.2.2.1). */
export function normalizedAddress(url: string): string {
  return url.replace(/^[^/]*\/\/[^/]*/, (origin) => origin.toLowerCase())
}

/**
 * The key of a variant.
 * @param selected the generation of the variants and the selecting inputs of the request, as a text
 */
export function variantKey(key: string, selected: string): string {
  // No address contains a space, so no other address has this key.
  return `${key} ${createHash('sha256').update(selected).digest('base64url').slice(0, 27)}`
}
