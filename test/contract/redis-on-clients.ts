import { Redis, type RedisOptions } from 'ioredis'
import { Redis as Redis5 } from 'ioredis5'
import { afterAll, inject, test } from 'vitest'
import { redisStore, type RedisStoreOptions } from '../../src/redis/index.ts'
import { storeContract } from '../../src/testing/index.ts'
import { disconnect, nodeRedis, nodeRedis5, type NodeRedisOptions, type OpenClient } from '../support/node-redis.ts'

type ClientOptions = Pick<RedisOptions, 'keyPrefix' | 'protocol' | 'lazyConnect' | 'enableAutoPipelining'>

export const ioredis6 = (options: ClientOptions = {}) => new Redis(inject('redisUrl'), options)
export const ioredis5 = (options: Omit<ClientOptions, 'protocol'> = {}) => new Redis5(inject('redisUrl'), options)

export const node6 = (options: NodeRedisOptions = {}) => nodeRedis({ url: inject('redisUrl'), ...options })
export const node5 = () => nodeRedis5({ url: inject('redisUrl') })

/** A kind of client that users have, and the options of the store on it. */
export interface Kind {
  readonly name: string
  readonly connect: () => OpenClient
  readonly options?: RedisStoreOptions
}

/** Declares the suite of stores for a store on each kind of client. */
export function declareContracts(kinds: readonly Kind[]): void {
  for (const { name, connect, options = {} } of kinds) {
    // Connections last for all tests of a kind; stores, and the connections that they open themselves, for one.
    const clients: OpenClient[] = []
    afterAll(() => {
      for (const client of clients) disconnect(client)
    })
    storeContract({
      name: `redisStore on ${name}`,
      test,
      pushes: options.wakeUp !== 'poll',
      open: async () => {
        if (clients.length === 0) clients.push(connect(), connect())
        return { stores: clients.map((client) => redisStore(client, options)), close: async () => undefined }
      },
    })
  }
}
