import type { CacheErrorCode, Failure } from '../../core/errors.ts'

const codes: readonly CacheErrorCode[] = [
  'LOAD_FAILED',
  'LOAD_TIMEOUT',
  'VALUE_TOO_LARGE',
  'VALUE_NOT_SERIALIZABLE',
  'CIRCULAR_LOAD',
  'CLOSED',
]

/** The failure in bytes from Redis; LOAD_FAILED for bytes of another form, which any client may have written. */
export function failureIn(bytes: Buffer): Failure {
  let said: unknown
  try {
    said = JSON.parse(bytes.toString())
  } catch {
    said = null
  }
  const { code, message, cause } = members(said)
  return {
    code: codes.includes(code as CacheErrorCode) ? (code as CacheErrorCode) : 'LOAD_FAILED',
    message: typeof message === 'string' ? message : 'The load failed, and its error cannot be read',
    cause: causeIn(members(cause)),
  }
}

function causeIn({ name, message, code }: Record<string, unknown>): Failure['cause'] {
  if (typeof name !== 'string' || typeof message !== 'string') return null
  return typeof code === 'string' || typeof code === 'number' ? { name, message, code } : { name, message }
}

function members(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
