import type { Cluster, Redis, RedisOptions } from 'ioredis'
import type { Target } from './target.ts'
import { UsageError } from './usage-error.ts'

/** What is used of ioredis. */
export interface Ioredis {
  readonly Redis: typeof Redis
  readonly Cluster: typeof Cluster
}

/** Where a server is, in the words of ioredis. */
export type Address = { readonly host: string; readonly port: number } | { readonly path: string }

/** How the servers of a target are reached. */
export interface Way {
  readonly addresses: readonly Address[]
  /** Credentials, encryption and database, for each of them. */
  readonly options: RedisOptions
}

/** The ioredis of the application. @throws UsageError if there is none */
export async function ioredis(who: string): Promise<Ioredis> {
  try {
    return await import('ioredis')
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    const outside = 'outside a project, `npx --package herdless --package ioredis herdless …`'
    throw new UsageError(`${who} needs ioredis 5 or 6: \`npm install ioredis\`, or, ${outside}`, { cause: error })
  }
}

/** What URLs say, read as the application reads them; no connection is made. */
export function wayTo({ urls, ca }: Target, library: Ioredis): Way {
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
