// The methods that are known to change nothing: RFC 9110 section 9.2.1, and the method registry.
const safe: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PROPFIND', 'QUERY', 'REPORT', 'SEARCH', 'TRACE'])

/**
 * Whether an answer invalidates the stored responses of its URI (RFC 9111 section 4.4): the method is unsafe and the
 * status is not an error.
 */
export function invalidates(method: string, status: number): boolean {
  return !safe.has(method) && status >= 200 && status <= 399
}

/**
 * The URIs whose stored responses become invalid (RFC 9111 section 4.4): the target of the request as given, and those
 * of Location and Content-Location if they have the same origin.
 * @param target the absolute URI of the request
 */
export function invalidatedUris(target: string, location: string | null, contentLocation: string | null): string[] {
  const uris = new Set([target])
  for (const reference of [location, contentLocation]) {
    const uri = reference === null ? null : sameOrigin(reference, target)
    if (uri !== null) uris.add(uri)
  }
  return [...uris]
}

function sameOrigin(reference: string, target: string): string | null {
  if (!URL.canParse(reference, target)) return null
  const uri = new URL(reference, target)
  if (uri.origin === 'null' || uri.origin !== new URL(target).origin) return null
  // The origin is spelled as in the target, because stored addresses are compared as texts. A fragment and user
  // information are not part of a stored address.
  const [origin = ''] = /^[^/]*\/\/[^/]*/.exec(target) ?? []
  return origin + uri.pathname + uri.search
}
