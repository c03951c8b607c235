import { Redis } from 'ioredis'
import { inject, test } from 'vitest'
import { locked, memoryLock, type KeyValue } from '../../src/index.ts'
import { redisLock } from '../../src/redis/index.ts'
import { storeContract } from '../../src/testing/index.ts'

/** As plain as can be: what a key-value store in memory does. */
function inMemory(): KeyValue {
  const values = new Map<string, { value: Uint8Array; until: number }>()
  return {
    async get(key) {
      const kept = values.get(key)
      return kept !== undefined && kept.until > Date.now() ? kept.value : null
    },
    async set(key, value, ttl) {
      values.set(key, { value, until: Date.now() + ttl })
    },
  }
}

function onRedis(client: Redis): KeyValue {
  return {
    get: (key) => client.getBuffer(key),
    set: (key, value, ttl) => client.set(key, Buffer.from(value), 'PX', Math.ceil(ttl)),
  }
}

storeContract({
  name: 'locked, in memory',
  test,
  pushes: false,
  inspects: 'keys',
  open: async () => {
    const keyValue = inMemory()
    const lock = memoryLock()
    return { stores: [locked(keyValue, lock), locked(keyValue, lock)], close: () => lock.close() }
  },
})

storeContract({
  name: 'locked, on Redis',
  test,
  pushes: false,
  inspects: 'keys',
  open: async () => {
    const clients = [new Redis(inject('redisUrl')), new Redis(inject('redisUrl'))]
    const locks = clients.map((client) => redisLock(client))
    return {
      stores: clients.map((client, index) => locked(onRedis(client), locks[index] ?? memoryLock())),
      close: async () => {
        await Promise.all(locks.map((lock) => lock.close()))
        for (const client of clients) client.disconnect()
      },
    }
  },
})
