import type { UnavailableReason } from '../../core/errors.ts'
import { messageOf } from '../../core/errors.ts'

/**
 * What tells the reasons apart, in the code and the message of an error: of Redis, of the system, of TLS, or of a
 * client, which is ioredis or node-redis. The first that matches counts, so a special case stands before the general
 * one. A script of Redis 6.2 puts its own words before an error of Redis.
 */
const signs: readonly (readonly [UnavailableReason, RegExp])[] = [
  ['password', redis('WRONGPASS|NOAUTH|ERR invalid password|ERR Client sent AUTH, but no password')],
  [
    'rights',
    redis(
      "NOPERM|ERR unknown (sub)?command|ERR Could not find scripting engine|.*no permissions? to (run|access)|.*can't (run|access) th",
    ),
  ],
  ['readOnly', redis('READONLY|MASTERDOWN')],
  ['loading', redis('LOADING')],
  ['full', redis('OOM')],
  ['unsaved', redis('MISCONF')],
  ['replicas', redis('NOREPLICAS')],
  ['clusterDown', redis('CLUSTERDOWN')],
  ['busy', redis('BUSY\\b')],
  ['certificate', /CERT_|_CERT\b|_LEAF_SIGNATURE|HOSTNAME_MISMATCH|self-signed certificate|certificate's altnames/],
  ['tls', /ERR_SSL_|ERR_TLS_|\bEPROTO\b|before secure TLS connection|SSL routines/],
  ['refused', /\bECONNREFUSED\b|max number of clients reached/],
  [
    'unreachable',
    /\b(ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENOENT|EACCES)\b|unreachable|root nodes are unavail/,
  ],
  ['timeout', /\bETIMEDOUT\b|timed out|[Tt]imeout/],
  ['closed', /\b(ECONNRESET|EPIPE|ECONNABORTED)\b|[Cc]onnection (is|to .+) closed|connection close|[Ss]ocket closed/],
  [
    'closed',
    /client is (closed|offline|not open)|Disconnects client|command was aborted|isn't writeable|max retries per/,
  ],
]

function redis(begin: string): RegExp {
  return new RegExp(`^(?:ERR Error (?:running|compiling) script .*?: -?)?(?:${begin})`, 'i')
}

/** The errors behind an error: of each address, of the last node of a cluster, of the socket. */
interface Nested {
  readonly errors?: unknown
  readonly lastNodeError?: unknown
  readonly socketError?: unknown
}

/** The reason for which a client or a server of Redis did not carry out a command, by the error; pure. */
export function reasonOf(error: unknown, depth = 0): UnavailableReason {
  const { code, errors, lastNodeError, socketError } = (error ?? {}) as Nested & { code?: unknown }
  const message = messageOf(error)
  const told = signs.find(([, sign]) => sign.test(message) || (typeof code === 'string' && sign.test(code)))
  if (told !== undefined || depth === 3) return told?.[0] ?? 'other'
  const [nested = lastNodeError ?? socketError] = Array.isArray(errors) ? (errors as unknown[]) : []
  return nested === undefined || nested === null ? 'other' : reasonOf(nested, depth + 1)
}
