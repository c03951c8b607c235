import { readFileSync } from 'node:fs'
import { parseArgs, type ParseArgsConfig } from 'node:util'
import type { CacheOptions } from '../core/options/options.ts'
import { planOf } from '../core/options/plan.ts'
import { UsageError } from './usage-error.ts'

/** What a command is about: a server; or the nodes of a cluster, or the sentinels, any of which may answer. */
export interface Target {
  readonly urls: readonly string[]
  readonly kind: 'server' | 'cluster' | 'sentinel'
  /** What the sentinels call the master; `''` without sentinels. */
  readonly master: string
  /** The authority that certificates are checked against, in PEM; `null` for those that Node.js knows. */
  readonly ca: string | null
}

/** The options that say it. */
export const targetOptions = {
  cluster: { type: 'boolean' },
  sentinel: { type: 'string' },
  'tls-ca': { type: 'string' },
} as const

/** What a command line says of it; without a URL it is that of REDIS_URL. @throws UsageError */
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

/** A command line, by its options. @throws UsageError */
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

/** The plan of a cache with these options. @throws UsageError */
export function planned(given: CacheOptions): ReturnType<typeof planOf> {
  return understood(() => planOf(given))
}

/** What comes of a check that throws a TypeError. @throws UsageError */
export function understood<T>(check: () => T): T {
  try {
    return check()
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error })
  }
}

// What is wrong with it is not repeated: there may be a password in it.
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
