import { Redis } from 'ioredis'
import { inject, test } from 'vitest'
import { locked, type KeyValue } from '../../src/index.ts'
import { redisLock } from '../../src/redis/index.ts'
import { storeContract } from '../../src/testing/index.ts'

function keyValue(client: Redis): KeyValue {
  return {
    get: (key) => client.getBuffer(key),
    set: (key, value, ttl) => client.set(key, Buffer.from(value), 'PX', Math.ceil(ttl)),
  }
}

storeContract({
  name: 'locked, on Redis',
  test,
  pushes: false,
  limits: false,
  inspects: 'keys',
  open: async () => {
    const clients = [new Redis(inject('redisUrl')), new Redis(inject('redisUrl'))]
    const locks = clients.map((client) => redisLock(client, { commandTimeout: '1m' }))
    return {
      stores: clients.map((client, index) => locked(keyValue(client), locks[index] as (typeof locks)[0])),
      close: async () => {
        await Promise.all(locks.map((lock) => lock.close()))
        for (const client of clients) client.disconnect()
      },
    }
  },
  timeout: 60_000,
})
