import { readFileSync } from 'node:fs'
import { parseArgs, type ParseArgsConfig } from 'node:util'
import type { CacheOptions } from '../core/options/options.ts'
import { planOf } from '../core/options/plan.ts'

/** The target of a command: a server, or nodes of a cluster or sentinels, any of which may answer. */
export interface Target {
  readonly urls: readonly string[]
  readonly kind: 'server' | 'cluster' | 'sentinel'
  /** The name of the master for the sentinels; `''` without sentinels. */
  readonly master: string
  /** The authority for certificates, in PEM; `null` for the authorities that Node.js knows. */
  readonly ca: string | null
}

/** The options for a target. */
export const targetOptions = {
  cluster: { type: 'boolean' },
  sentinel: { type: 'string' },
  'tls-ca': { type: 'string' },
} as const

/**
 * The target in a command line. Without a URL, REDIS_URL is used.
 * @throws UsageError
 */
export function targetIn(
  values: { readonly cluster?: boolean; readonly sentinel?: string; readonly 'tls-ca'?: string },
  given: readonly string[],
): Target {
  const urls = given.length > 0 ? given : [process.env['REDIS_URL'] ?? ''].filter((url) => url !== '')
  const kind = values.cluster === true ? 'cluster' : values.sentinel === undefined ? 'server' : 'sentinel'
  if (values.cluster === true && values.sentinel !== undefined) {
    throw new UsageError('Expected --cluster or --sentinel, got both')
  }
  if (urls.length === 0) throw new UsageError('Expected the URL of a Redis, such as redis://127.0.0.1:6379')
  if (urls.length > 1 && kind === 'server') {
    throw new UsageError(`Expected one URL, got ${urls.length}; several are for --cluster and --sentinel`)
  }
  for (const url of urls) checkUrl(url)
  return { urls, kind, master: values.sentinel ?? '', ca: certificateIn(values['tls-ca']) }
}

/**
 * A parsed command line.
 * @throws UsageError
 */
export function parsed<Options extends NonNullable<ParseArgsConfig['options']>>(
  args: readonly string[],
  options: Options,
): ReturnType<typeof parse<Options>> {
  try {
    return parse(args, options)
  } catch (error) {
    throw new UsageError((error as Error).message.replace(/\.? To specify a positional.*$/s, ''), { cause: error })
  }
}

function parse<Options extends NonNullable<ParseArgsConfig['options']>>(
  args: readonly string[],
  options: Options,
): ReturnType<typeof parseArgs<{ args: string[]; options: Options; allowPositionals: true }>> {
  return parseArgs({ args: [...args], options, allowPositionals: true })
}

/**
 * The plan of a cache with these options.
 * @throws UsageError
 */
export function planned(given: CacheOptions): ReturnType<typeof planOf> {
  return understood(() => planOf(given))
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

/** A command line that is malformed, or impossible in this environment; the message says why. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
