import { createHash } from 'node:crypto'
import { fieldOf, fieldsOf } from '../policy/fields.ts'
import type { StoredHead } from './stored-response.ts'

/** So that a handler is never asked about a tag that it did not give. */
const ours = /^W\/"herdless-/

/**
 * The head of a response that has an ETag: its handler's, or one made of the body. It is weak, for what stands before the cache
 * may compress the body for each client (RFC 9110, section 8.8.3.3).
 */
export function withTag(head: StoredHead, body: Buffer): StoredHead {
  if (head.status !== 200 || fieldOf(fieldsOf(head.lines), 'etag') !== null) return head
  const hash = createHash('sha256').update(body).digest('base64url').slice(0, 27)
  return { ...head, lines: [...head.lines, ['ETag', `W/"herdless-${hash}"`]] }
}

/** The request fields that ask a handler whether a stored response is still right; none if it gave nothing to ask with. */
export function conditionsOf({ status, lines }: StoredHead): Record<string, string> {
  if (status !== 200) return {}
  const fields = fieldsOf(lines)
  const [etag, lastModified] = [fieldOf(fields, 'etag'), fieldOf(fields, 'last-modified')]
  return {
    ...(etag === null || ours.test(etag) ? {} : { 'if-none-match': etag }),
    ...(lastModified === null ? {} : { 'if-modified-since': lastModified }),
  }
}
