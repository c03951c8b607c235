import type { Cluster, Redis, RedisOptions } from 'ioredis'
import type { Credentials, Address, ClientLibrary, OwnClient, TargetWay } from './library.ts'

/** The required classes of ioredis. */
interface Ioredis {
  readonly Redis: typeof Redis
  readonly Cluster: typeof Cluster
}

/** The clients of ioredis 5 and 6. */
export function ioredisLibrary(library: Ioredis): ClientLibrary {
  return {
    name: 'ioredis',
    parse: (url) => parsed(new library.Redis(url, { lazyConnect: true }).options),
    open: (way, timeout) => ownClient(clientOf(library, way, timeout), way),
  }
}

function parsed({ username, password, db, tls, family, path, host, port }: RedisOptions): Credentials & {
  readonly address: Address
} {
  return {
    ...(typeof username === 'string' && { username }),
    ...(typeof password === 'string' && { password }),
    ...(family !== undefined && { family }),
    tls: (tls ?? null) as Credentials['tls'],
    database: db ?? 0,
    address: path === undefined ? { host: host ?? '127.0.0.1', port: port ?? 6379 } : { path },
  }
}

function clientOf(library: Ioredis, way: TargetWay, timeout: number): Redis | Cluster {
  const { addresses, kind, master, tls, database, username, password, family } = way
  const timeouts = {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(family !== undefined && { family }),
    ...(tls !== null && { tls }),
    db: database,
    replyMapping: 'legacy' as const,
    connectTimeout: timeout,
    commandTimeout: timeout,
    disconnectTimeout: 100,
    maxRetriesPerRequest: 0,
  }
  const places = addresses.filter((address): address is Extract<Address, { host: string }> => 'host' in address)
  switch (kind) {
    case 'cluster':
      return new library.Cluster(places, {
        lazyConnect: true,
        clusterRetryStrategy: () => null,
        redisOptions: timeouts,
      })
    case 'sentinel':
      return new library.Redis({
        ...timeouts,
        lazyConnect: true,
        sentinels: places,
        name: master,
        sentinelRetryStrategy: () => null,
        retryStrategy: () => null,
      })
    case 'server':
      return new library.Redis({
        ...timeouts,
        ...addresses[0],
        lazyConnect: true,
        enableReadyCheck: false,
        disableClientInfo: true,
        retryStrategy: () => null,
        reconnectOnError: null,
      })
  }
}

function ownClient(client: Redis | Cluster, { kind, database }: TargetWay): OwnClient {
  return {
    client,
    connect: async () => {
      await client.connect()
      // A refused database is an event to ioredis, after which it works on database 0.
      if (kind !== 'cluster' && database !== 0) await client.call('SELECT', [database])
    },
    call: (command, args) => client.call(command, [...args]),
    subscribe: (channel) => client.subscribe(channel),
    onMessage: (listener) => void client.on('message', listener),
    onError: (listener) => void client.on('error', listener),
    onLoss: (listener) => void client.on('close', listener),
  }
}
