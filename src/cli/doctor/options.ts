import type { CacheOptions } from '../../core/options/options.ts'
import { parsed, planned, targetIn, targetOptions, type Target, UsageError } from '../target.ts'

/** The question to the doctor. */
export interface Question extends Target {
  /** The user whose rights are examined, if that is not the user of the connection. */
  readonly aclUser: string | null
  readonly json: boolean
  readonly settings: Settings
}

/** The planned use of the cache. */
export interface Settings {
  readonly namespace: string
  readonly wakeUp: 'push' | 'poll'
  /** Milliseconds. */
  readonly leaseTtl: number
  readonly commandTimeout: number
  readonly inlineLimit: number
}

const options = {
  ...targetOptions,
  namespace: { type: 'string' },
  'wake-up': { type: 'string' },
  'lease-ttl': { type: 'string' },
  'command-timeout': { type: 'string' },
  'acl-user': { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const

/** The output of `herdless doctor --help`. */
export const help = `Usage: herdless doctor [options] <redis url>...

Examines a Redis or Valkey, and says what is wrong with it as a place for a cache. Without a URL it takes that of
REDIS_URL. What it writes stands under a key of its own, with an expiry, and is deleted again.

  --cluster               the URLs are nodes of a cluster; all masters are examined
  --sentinel <name>       the URLs are sentinels; the master of this name is examined, with the user, the password
                          and the database of the first URL
  --namespace <name>      the namespace of the cache (default herdless)
  --wake-up push|poll     the wakeUp of the store (default push)
  --lease-ttl <time>      the leaseTtl of the cache (default 10s)
  --command-timeout <t>   the commandTimeout of the cache (default 500ms)
  --acl-user <name>       examine the rights of this user, instead of those of the one who is logged in; whoever is
                          logged in needs the right to ACL DRYRUN (Redis 7.0)
  --tls-ca <file>         the authority that signed the certificate of a rediss:// server, in PEM
  --json                  the findings as one line of JSON
  --help                  this text

Ends with 0 if there is no problem (there may be warnings), with 1 if there is one, and with 2 if nothing could be
examined.`

/**
 * The question in a command line; `null` if it asks for help.
 * @throws UsageError
 */
export function questionIn(args: readonly string[]): Question | null {
  const { values, positionals } = parsed(args, options)
  if (values.help === true) return null
  const target = targetIn(values, positionals)
  const { 'wake-up': wakeUp = 'push' } = values
  if (wakeUp !== 'push' && wakeUp !== 'poll') throw new UsageError('Expected --wake-up to be push or poll')
  const { namespace, leaseTtl, commandTimeout, inlineLimit } = planned({
    namespace: values.namespace,
    leaseTtl: duration(values['lease-ttl']),
    commandTimeout: duration(values['command-timeout']),
  })
  return {
    ...target,
    aclUser: values['acl-user'] ?? null,
    json: values.json === true,
    settings: { namespace, wakeUp, leaseTtl, commandTimeout, inlineLimit },
  }
}

function duration(text: string | undefined): CacheOptions['leaseTtl'] {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : (text as CacheOptions['leaseTtl'])
}
