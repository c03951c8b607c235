/** Why a request went on to the handler (RFC 9211, section 2.2). */
export type Forwarded = 'bypass' | 'method' | 'uri-miss' | 'vary-miss' | 'request' | 'stale'

/** What is said of one request in `Cache-Status` (RFC 9211). */
export interface CacheStatus {
  /** It was answered from what is stored, which is fresh for so many milliseconds more; less than 0 if it is stale. */
  readonly hit?: { readonly ttl: number }
  readonly forwarded?: Forwarded
  /** What the handler answered, where that is not what the client was sent. */
  readonly forwardedStatus?: number
  readonly stored?: boolean
  /** Whether it was answered with what the handler said to another request. */
  readonly collapsed?: boolean
  /** Why, in a short word of ours. */
  readonly detail?: string
}

/** The member of the list that is ours, as text. */
export function cacheStatusText(status: CacheStatus): string {
  const { hit, forwarded, forwardedStatus, stored, collapsed, detail } = status
  const parts = ['herdless']
  if (hit !== undefined) parts.push('hit', `ttl=${Math.floor(hit.ttl / 1_000)}`)
  if (forwarded !== undefined) parts.push(`fwd=${forwarded}`)
  if (forwardedStatus !== undefined) parts.push(`fwd-status=${forwardedStatus}`)
  if (stored === true) parts.push('stored')
  if (collapsed === true) parts.push('collapsed')
  if (detail !== undefined) parts.push(`detail=${detail}`)
  return parts.join('; ')
}
