import { afterAll, test } from 'vitest'
import { portOf } from '../../src/redis/clients/redis-client.ts'
import { redisLock, redisStore, type RedisLockOptions, type RedisStoreOptions } from '../../src/redis/index.ts'
import { clientContract, lockContract, storeContract } from '../../src/testing/index.ts'
import { disconnect, type OpenClient } from '../support/node-redis.ts'

/** A kind of client that users have, and the options of what stands on it. */
export interface Kind<Options = object> {
  readonly name: string
  readonly connect: () => OpenClient
  readonly options?: Options
}

/** So that nothing is given up because the machine is busy. */
export const timeout = 60_000

/**
 * Those of the kinds on which a suite runs: the first alone in the gate, which asks of the others only what the suite of clients asks, and all of
 * them where a project of `vitest.config.ts` says so.
 */
export function chosen<Options>(kinds: readonly Kind<Options>[]): readonly Kind<Options>[] {
  return process.env['EVERY_CLIENT'] === 'yes' ? kinds : kinds.slice(0, 1)
}

/** Declares the suite of stores for a store on each kind of client. */
export function declareStores(on: string, kinds: readonly Kind<RedisStoreOptions>[]): void {
  for (const { name, connect, options = {} } of kinds) {
    // Connections last for all tests of a kind; stores, and the connections that they open themselves, for one.
    const clients: OpenClient[] = []
    afterAll(() => clients.forEach(disconnect))
    storeContract({
      name: `${on} ${name}`,
      test,
      pushes: options.wakeUp !== 'poll',
      open: async () => {
        if (clients.length === 0) clients.push(connect(), connect())
        return { stores: clients.map((client) => redisStore(client, options)), close: async () => undefined }
      },
      timeout,
    })
  }
}

/** Declares the suite of locks for a lock on each kind of client. */
export function declareLocks(on: string, kinds: readonly Kind<RedisLockOptions>[]): void {
  for (const { name, connect, options } of kinds) {
    lockContract({
      name: `${on} ${name}`,
      test,
      open: async () => {
        const clients = [connect(), connect()]
        const ports = clients.map(portOf)
        await Promise.all(ports.map((port) => port.call('time', null, [])))
        return {
          locks: clients.map((client) => redisLock(client, { commandTimeout: timeout, ...options })),
          waiting: async (lock) => Number(await ports[0]?.call('zcard', `{lock:${lock}}:queue`, [])),
          close: async () => clients.forEach(disconnect),
        }
      },
      timeout,
    })
  }
}

/** Declares the suite of clients for each kind. */
export function declareClients(on: string, kinds: readonly Kind[]): void {
  for (const { name, connect } of kinds) {
    clientContract({
      name: `${on} ${name}`,
      test,
      open: async () => {
        const client = connect()
        return { port: portOf(client), close: async () => disconnect(client) }
      },
      timeout,
    })
  }
}
