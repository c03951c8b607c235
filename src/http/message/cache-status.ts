/** The reason why a request was forwarded to the handler (RFC 9211 section 2.2). */
export type Forwarded = 'bypass' | 'uri-miss' | 'vary-miss' | 'request' | 'stale'

/** The parameters of `Cache-Status` for one request (RFC 9211 section 2). */
export interface CacheStatus {
  /**
   * The rest of the lifetime of the stored response that the client is sent, in milliseconds; negative for a stale one.
   * It is a hit unless the request was forwarded.
   */
  readonly ttl?: number
  readonly forwarded?: Forwarded
  /** The status of the handler, if the client was sent another one. */
  readonly forwardedStatus?: number
  readonly stored?: boolean
  /** Whether the request was answered with the answer to another request. */
  readonly collapsed?: boolean
  /** The reason, as a token of this implementation. */
  readonly detail?: string
}

/** Formats the member of the list that describes this cache. */
export function cacheStatusText(status: CacheStatus): string {
  const { ttl, forwarded, forwardedStatus, stored, collapsed, detail } = status
  const parts = ['herdless']
  if (ttl !== undefined && forwarded === undefined) parts.push('hit')
  if (forwarded !== undefined) parts.push(`fwd=${forwarded}`)
  if (forwardedStatus !== undefined) parts.push(`fwd-status=${forwardedStatus}`)
  if (ttl !== undefined) parts.push(`ttl=${Math.floor(ttl / 1_000)}`)
  if (stored === true) parts.push('stored')
  if (collapsed === true) parts.push('collapsed')
  if (detail !== undefined) parts.push(`detail=${detail}`)
  return parts.join('; ')
}
