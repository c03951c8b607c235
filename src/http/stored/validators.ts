import { createHash } from 'node:crypto'
import { fieldOf, fieldsOf } from '../policy/fields.ts'
import type { StoredHead } from './stored-response.ts'

/** ETags made here, which a handler is never asked about because it does not know them. */
const ours = /^W\/"herdless-/

/**
 * Adds an ETag made of the body to a 200 without one. It is weak, because middleware before the cache may compress the
 * body for each client (RFC 9110 section 8.8.3.3).
 */
export function withTag(head: StoredHead, body: Buffer): StoredHead {
  if (head.status !== 200 || fieldOf(fieldsOf(head.lines), 'etag') !== null) return head
  const hash = createHash('sha256').update(body).digest('base64url').slice(0, 27)
  return { ...head, lines: [...head.lines, ['ETag', `W/"herdless-${hash}"`]] }
}

/**
 * The conditional request fields that ask a handler whether a stored response still holds; empty if it gave no
 * validator.
 */
export function conditionsOf({ status, lines }: StoredHead): Record<string, string> {
  if (status !== 200) return {}
  const fields = fieldsOf(lines)
  const [etag, lastModified] = [fieldOf(fields, 'etag'), fieldOf(fields, 'last-modified')]
  return {
    ...(etag === null || ours.test(etag) ? {} : { 'if-none-match': etag }),
    ...(lastModified === null ? {} : { 'if-modified-since': lastModified }),
  }
}
