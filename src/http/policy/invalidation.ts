// RFC 9110 section 9.2.1, and the registry of methods: those that are known to change nothing.
const safe: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PROPFIND', 'QUERY', 'REPORT', 'SEARCH', 'TRACE'])

/** RFC 9111 section 4.4: whether what is stored is void after an answer that is no error to a method that is not safe. */
export function invalidates(method: string, status: number): boolean {
  return !safe.has(method) && status >= 200 && status <= 399
}

/**
 * RFC 9111 section 4.4: the URIs of which what is stored is void: that of the request, as it is given, and those that
 * Location and Content-Location name, unless they are of another origin.
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
  // Spelled as the target is. A part of a document, and who asks for it, are no part of what is stored.
  const [origin = ''] = /^[^/]*\/\/[^/]*/.exec(target) ?? []
  return origin + uri.pathname + uri.search
}
