import type { Cluster, Redis, RedisOptions } from 'ioredis'
import { type Target, UsageError } from './target.ts'

/** The required classes of ioredis. */
export interface Ioredis {
  readonly Redis: typeof Redis
  readonly Cluster: typeof Cluster
}

/** The address of a server, in the options of ioredis. */
export type Address = { readonly host: string; readonly port: number } | { readonly path: string }

/** The addresses and options for a target. */
export interface RedisWay {
  readonly addresses: readonly Address[]
  /** Credentials, encryption and database of every address. */
  readonly options: RedisOptions
}

/**
 * The ioredis of the application.
 * @throws UsageError if there is none
 */
export async function ioredis(who: string): Promise<Ioredis> {
  try {
    return await import('ioredis')
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    const outside = 'outside a project, `npx --package herdless --package ioredis herdless …`'
    throw new UsageError(`${who} needs ioredis 5 or 6: \`npm install ioredis\`, or, ${outside}`, { cause: error })
  }
}

/** Parses URLs as the application's ioredis does, without a connection. */
export function wayTo({ urls, ca }: Target, library: Ioredis): RedisWay {
  const read = urls.map((url) => new library.Redis(url, { lazyConnect: true }).options)
  const [{ username, password, db, tls, family } = {}] = read
  const secure = tls === undefined ? null : ca === null ? tls : { ...tls, ca }
  const options: RedisOptions = {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(family === undefined ? {} : { family }),
    ...(secure === null ? {} : { tls: secure }),
    db: db ?? 0,
  }
  return { addresses: read.map(addressIn), options }
}

function addressIn({ path, host = '127.0.0.1', port = 6379 }: RedisOptions): Address {
  return path === undefined ? { host, port } : { path }
}
