import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { CacheOptions } from '../core/options/options.ts'
import { planOf } from '../core/options/plan.ts'
import { UsageError } from './ending.ts'

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
  for (const url of urls) checkUrl(url)
  return { urls, kind, master: sentinel ?? '', ca: certificateIn(tlsCa) }
}

/** A duration in a command line: digits are a number of milliseconds, and anything else is checked by its user. */
export function durationIn(text: string | undefined): CacheOptions['leaseTtl'] {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : (text as CacheOptions['leaseTtl'])
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

// The URL is not quoted, because it may contain a password.
function checkUrl(url: string): void {
  if (/^rediss?:\/\//i.test(url) ? URL.canParse(url) : url.startsWith('/')) return
  throw new UsageError(
    'Expected a URL such as redis://user:password@host:6379/0 or rediss://..., or the path of a socket',
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
