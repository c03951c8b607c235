import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { CacheOptions } from '../core/options/options.ts'
import { planOf } from '../core/options/plan.ts'
import { formatValue, longestTimer, parseDuration } from '../core/time/duration.ts'
import { plainAddress, UsageError } from './ending.ts'

/** The target of a command: a server, or nodes of a cluster or sentinels, any of which may answer. */
export interface Target {
  readonly urls: readonly string[]
  readonly kind: 'server' | 'cluster' | 'sentinel'
  /** The name of the master for the sentinels; `''` without sentinels. */
  readonly master: string
  /** The authority for certificates, in PEM; `null` for the authorities that Node.js knows. */
  readonly ca: string | null
}

/** The options for a target, as given. */
export interface TargetOptions {
  readonly cluster?: true
  readonly sentinel?: string
  readonly tlsCa?: string
}

/** Adds the URLs of a target, and the options for it, to a command behind its own options. */
export function takingUrls(command: Command): Command {
  return takingTarget(command.argument('[redis url...]', 'default: the environment variable REDIS_URL'))
}

/** Adds the options for a target to a command, behind its own. */
export function takingTarget(command: Command): Command {
  return command
    .option('--cluster', 'the URLs, one or several, are nodes of a cluster')
    .option(
      '--sentinel <name>',
      'the URLs are sentinels of the master of this name; its user, password and database are those of the first URL',
    )
    .option('--tls-ca <file>', 'the authority that signed the certificate of a rediss:// server, in PEM')
}

/**
 * The target in a command line. Without a URL, REDIS_URL is used.
 * @throws UsageError
 */
export function targetIn(options: TargetOptions, given: readonly string[]): Target {
  const urls = given.length > 0 ? given : [process.env['REDIS_URL'] ?? ''].filter((url) => url !== '')
  const { cluster, sentinel, tlsCa } = options
  const kind = cluster === true ? 'cluster' : sentinel === undefined ? 'server' : 'sentinel'
  if (cluster === true && sentinel !== undefined) {
    throw new UsageError('Expected --cluster or --sentinel, got both')
  }
  if (urls.length === 0) throw new UsageError('Expected the URL of a Redis, such as redis://127.0.0.1:6379')
  if (urls.length > 1 && kind === 'server') {
    throw new UsageError(`Expected one URL, got ${urls.length}; several are for --cluster and --sentinel`)
  }
  return { urls: urls.map(urlIn), kind, master: sentinel ?? '', ca: certificateIn(tlsCa) }
}

/**
 * A duration in a command line, in milliseconds; `undefined` if it was not given.
 * @throws UsageError if it has no unit: five may be meant as seconds, and would be milliseconds
 */
export function durationIn(option: string, text: string, least?: number): number
export function durationIn(option: string, text: string | undefined, least?: number): number | undefined
export function durationIn(option: string, text: string | undefined, least = 1): number | undefined {
  if (text === undefined) return undefined
  try {
    return parseDuration(option, text, { least, most: longestTimer })
  } catch (error) {
    const bound = least > 1 ? ` of ${least}ms or more` : ''
    const got = formatValue(text).replace(/ \(string\)$/, '')
    throw new UsageError(`Expected ${option} to be a time${bound} with its unit, such as 500ms or 5s, got ${got}`, {
      cause: error,
    })
  }
}

/**
 * The plan of a cache with these options.
 * @throws UsageError
 */
export function planned(given: CacheOptions): ReturnType<typeof planOf> {
  return understood(() => planOf(given))
}

/**
 * The namespace to look at; `null` for all.
 * @throws UsageError
 */
export function namespaceAsked(given: string | undefined): string | null {
  return given === undefined ? null : planned({ namespace: given }).namespace
}

/**
 * The result of a check that throws TypeErrors.
 * @throws UsageError
 */
export function understood<T>(check: () => T): T {
  try {
    return check()
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error })
  }
}

/** The URL, which may be short of its scheme. It is not quoted, because it may contain a password. */
function urlIn(given: string): string {
  const url = plainAddress.test(given) ? `redis://${given}` : given
  if (url.startsWith('/')) return url
  if (/^rediss?:\/\//i.test(url) && URL.canParse(url)) {
    if (/^\/?\d*$/.test(new URL(url).pathname)) return url
    throw new UsageError('Expected the path of the URL to be the number of a database, such as redis://host:6379/0')
  }
  throw new UsageError(
    'Expected a URL such as redis://user:password@host:6379/0 or rediss://..., an address such as localhost:6379, or the path of a socket',
  )
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
