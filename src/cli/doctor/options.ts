import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { CacheOptions } from '../../core/options.ts'
import { planOf } from '../../core/plan.ts'
import { UsageError } from '../usage-error.ts'

/** What the doctor is asked. */
export interface Question {
  /** The server; or the nodes of a cluster, or the sentinels, any of which may answer. */
  readonly urls: readonly string[]
  readonly kind: 'server' | 'cluster' | 'sentinel'
  /** What the sentinels call the master; `''` without sentinels. */
  readonly master: string
  /** The user whose rights are examined, where it is not the one who is logged in. */
  readonly aclUser: string | null
  /** The authority that certificates are checked against, in PEM; `null` for those that Node.js knows. */
  readonly ca: string | null
  readonly json: boolean
  readonly settings: Settings
}

/** How the cache is to be used. */
export interface Settings {
  readonly namespace: string
  readonly wakeUp: 'push' | 'poll'
  /** Milliseconds. */
  readonly leaseTtl: number
  readonly commandTimeout: number
  readonly inlineLimit: number
}

const options = {
  cluster: { type: 'boolean' },
  sentinel: { type: 'string' },
  namespace: { type: 'string' },
  'wake-up': { type: 'string' },
  'lease-ttl': { type: 'string' },
  'command-timeout': { type: 'string' },
  'acl-user': { type: 'string' },
  'tls-ca': { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const

/** What `herdless doctor --help` prints. */
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
 * What a command line asks; `null` if it asks for help.
 * @throws UsageError
 */
export function questionIn(args: readonly string[]): Question | null {
  const { values, positionals } = parsed(args)
  if (values.help === true) return null
  const urls = positionals.length > 0 ? positionals : [process.env['REDIS_URL'] ?? ''].filter((url) => url !== '')
  const kind = values.cluster === true ? 'cluster' : values.sentinel === undefined ? 'server' : 'sentinel'
  if (values.cluster === true && values.sentinel !== undefined) {
    throw new UsageError('Expected --cluster or --sentinel, got both')
  }
  if (urls.length === 0) throw new UsageError('Expected the URL of a Redis, such as redis://127.0.0.1:6379')
  if (urls.length > 1 && kind === 'server') {
    throw new UsageError(`Expected one URL, got ${urls.length}; several are for --cluster and --sentinel`)
  }
  for (const url of urls) checkUrl(url)
  const { 'wake-up': wakeUp = 'push' } = values
  if (wakeUp !== 'push' && wakeUp !== 'poll') throw new UsageError('Expected --wake-up to be push or poll')
  const { namespace, leaseTtl, commandTimeout, inlineLimit } = planned({
    namespace: values.namespace,
    leaseTtl: duration(values['lease-ttl']),
    commandTimeout: duration(values['command-timeout']),
  })
  return {
    urls,
    kind,
    master: values.sentinel ?? '',
    aclUser: values['acl-user'] ?? null,
    ca: certificateIn(values['tls-ca']),
    json: values.json === true,
    settings: { namespace, wakeUp, leaseTtl, commandTimeout, inlineLimit },
  }
}

function parsed(args: readonly string[]): ReturnType<typeof parse> {
  try {
    return parse(args)
  } catch (error) {
    throw new UsageError((error as Error).message.replace(/\.? To specify a positional.*$/s, ''), { cause: error })
  }
}

function parse(args: readonly string[]): {
  values: {
    [name in keyof typeof options]?: (typeof options)[name]['type'] extends 'string' ? string : boolean
  }
  positionals: string[]
} {
  return parseArgs({ args: [...args], options, allowPositionals: true })
}

// What is wrong with it is not repeated: there may be a password in it.
function checkUrl(url: string): void {
  if (/^rediss?:\/\//i.test(url) ? URL.canParse(url) : url.startsWith('/')) return
  throw new UsageError(
    'Expected a URL such as redis://user:password@host:6379/0 or rediss://..., or the path of a socket',
  )
}

function planned(given: CacheOptions): ReturnType<typeof planOf> {
  try {
    return planOf(given)
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error })
  }
}

function duration(text: string | undefined): CacheOptions['leaseTtl'] {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : (text as CacheOptions['leaseTtl'])
}

function certificateIn(file: string | undefined): string | null {
  if (file === undefined) return null
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`Expected --tls-ca to name a file that can be read: ${(error as Error).message}`, {
      cause: error,
    })
  }
}
