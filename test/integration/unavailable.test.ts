import { once } from 'node:events'
import { Redis, type RedisOptions } from 'ioredis'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { CacheError } from '../../src/core/errors.ts'
import { createCache, type Cache } from '../../src/index.ts'
import { redisLock, redisStore } from '../../src/redis/index.ts'
import { clientLibrary, disconnect, nodeRedis, type OpenClient } from '../support/node-redis.ts'
import { until } from '../../tools/until.mjs'
import { missingFor, startRedis, type RedisServer } from '../support/servers.ts'

/** What the clients of this page are told, in the words of ioredis. */
type Options = Pick<RedisOptions, 'username' | 'password' | 'enableReadyCheck' | 'tls'> & {
  readonly port: number
  readonly retryStrategy?: () => number
}
type Make = (options: Options) => OpenClient

const makes: Record<typeof clientLibrary, Make> = {
  ioredis: (options) => new Redis(options),
  'node-redis': (options) => nodeRedis(asNodeRedis(options)),
}

function asNodeRedis({ port, username, password, tls, retryStrategy }: Options): Parameters<typeof nodeRedis>[0] {
  const socket = { host: '127.0.0.1', port, ...(retryStrategy && { reconnectStrategy: retryStrategy }) }
  return {
    ...(username !== undefined && { username }),
    ...(typeof password === 'string' && { password }),
    socket: tls === undefined ? socket : { ...socket, tls: true },
  }
}

const make = makes[clientLibrary]
/** node-redis sends commands before the server has answered to its password, so they are refused for want of one. */
const wrongPassword = clientLibrary === 'node-redis' ? /^(WRONGPASS|NOAUTH)/ : /^WRONGPASS/
const onNodeRedis = clientLibrary === 'node-redis'
const wakeUps = ['push', 'poll'] as const
const withoutTls = await missingFor('tls')

const silence = { commandTimeout: 300, warnings: false } as const

/** A client of the test, which hears its own errors, as applications do. */
function clientOf(options: Options): OpenClient {
  const client = make(options)
  if ('status' in client) (client as Redis).on('error', () => {})
  onTestFinished(() => disconnect(client))
  return client
}

function cacheOf(options: Options, wakeUp: (typeof wakeUps)[number]): Cache {
  const cache = createCache({ store: redisStore(clientOf(options), { wakeUp }), namespace: 'shop', ...silence })
  onTestFinished(() => cache.close())
  return cache
}

/** The error of a call for this reason, which on a busy machine may be known a moment after a call was given up. */
async function errorFor(reason: CacheError['reason'], call: () => Promise<unknown>): Promise<CacheError> {
  return await until(`a call fails because of ${reason}`, async () => {
    const error = (await call().then(
      () => null,
      (thrown: unknown) => thrown,
    )) as CacheError | null
    return error?.reason === reason && error
  })
}

/** What a call that is to load says, on a store that is pushed its messages, and on one that polls. */
function errorsOf(reason: CacheError['reason'], options: Options): Promise<CacheError[]> {
  return Promise.all(
    wakeUps.map((wakeUp) => {
      const cache = cacheOf(options, wakeUp)
      return errorFor(reason, () => cache.getOrLoad('key', () => 'loaded', { onStoreFailure: 'throw' }))
    }),
  )
}

describe(`an error of a store on ${clientLibrary}`, () => {
  let server: RedisServer

  beforeAll(async () => {
    server = await startRedis({ password: 'geheim' })
    await server.client.call('ACL', 'SETUSER', 'reader', 'on', '>secret', '~*', '&*', '+@all', '-evalsha', '-eval')
  })

  afterAll(async () => {
    await server?.stop()
  })

  test('says that nothing listens there', async () => {
    const gone = await startRedis()
    await gone.stop()
    for (const error of await errorsOf('refused', { port: gone.port })) {
      expect(error).toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringMatching(
          /^The store refuses connections, and did not answer within \d+ ms: connect ECONNREFUSED/,
        ),
        cause: { code: 'ECONNREFUSED' },
      })
    }
  })

  test('says that the password is wrong, or missing', async () => {
    for (const wrong of await errorsOf('password', { port: server.port, password: 'geraten' })) {
      expect(wrong).toMatchObject({ cause: { message: expect.stringMatching(wrongPassword) } })
      expect(wrong.message).toMatch(/^The store refuses the user or the password/)
      expect(wrong.message).not.toContain('geraten')
    }
    for (const missing of await errorsOf('password', { port: server.port })) {
      expect(missing).toMatchObject({ cause: { message: expect.stringMatching(/^NOAUTH/) } })
    }
  })

  test('says that a right is missing', async () => {
    for (const error of await errorsOf('rights', { port: server.port, username: 'reader', password: 'secret' })) {
      expect(error.message).toMatch(/^The store forbids a command: NOPERM .*evalsha/)
    }
  })

  test('says that the server is full, and that it is a replica', async () => {
    const options = { port: server.port, password: 'geheim' }
    onTestFinished(async () => {
      await server.freeMemory()
      await server.makeWritable()
    })
    await server.exhaustMemory()
    for (const error of await errorsOf('full', options)) expect(String(error.cause)).toMatch(/\bOOM/)
    await server.freeMemory()
    await server.makeReadOnly()
    expect(await errorsOf('readOnly', options)).toHaveLength(2)
  })

  test('says that the server loads its data, to a client that does not wait for that', async () => {
    await using slow = await startRedis()
    await slow.restartLoading(30_000)
    expect(await errorsOf('loading', { port: slow.port, enableReadyCheck: false })).toHaveLength(2)
  })

  test.for(wakeUps)('says how long a server was silent, and no longer what was wrong before: %s', async (wakeUp) => {
    await using other = await startRedis()
    const cache = cacheOf({ port: other.port, retryStrategy: () => 20 }, wakeUp)
    const works = (): Promise<boolean> => cache.set('key', 1).then(() => true)
    await until('it works', works)
    await other.kill()
    const refused = await errorFor('refused', () => cache.set('key', 1))
    expect(refused.cause).toMatchObject({ code: 'ECONNREFUSED' })
    await other.restart()
    await until('it works again', works)
    await other.freeze()
    const error: unknown = await cache.set('key', 2).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ reason: 'timeout', message: expect.stringMatching(/^The store did not answer with/) })
    other.thaw()
  })

  test.skipIf(withoutTls !== undefined)('says that the certificate is not accepted', async () => {
    await using secure = await startRedis({ tls: true })
    for (const error of await errorsOf('certificate', { port: secure.port, tls: {} })) {
      expect(error).toMatchObject({ cause: { code: 'SELF_SIGNED_CERT_IN_CHAIN' } })
    }
  })
})

test('a lock says why, too', async () => {
  await using server = await startRedis({ password: 'geheim' })
  await using lock = redisLock(clientOf({ port: server.port, password: 'geraten' }))
  expect(await errorFor('password', () => lock.tryAcquire('job'))).toMatchObject({
    code: 'STORE_UNAVAILABLE',
    cause: { message: expect.stringMatching(wrongPassword) },
  })
})

test('a lock that polls no longer says what was wrong before', async () => {
  await using server = await startRedis()
  const client = clientOf({ port: server.port, retryStrategy: () => 20 })
  await using lock = redisLock(client, { wakeUp: 'poll', commandTimeout: 300 })
  const works = (): Promise<boolean> => lock.run('job', () => true)
  await until('it works', works)
  await server.kill()
  await errorFor('refused', () => lock.tryAcquire('job'))
  await server.restart()
  await until('it works again', works)
  await server.freeze()
  expect(await lock.tryAcquire('job').catch((thrown: unknown) => thrown)).toMatchObject({ reason: 'timeout' })
  server.thaw()
})

test.skipIf(onNodeRedis)(
  'the reason is known although nobody listens to the client, by the connection for messages',
  async () => {
    const said = vi.spyOn(console, 'error').mockReturnValue()
    const gone = await startRedis()
    await gone.stop()
    const client = new Redis({ port: gone.port })
    const cache = createCache({ store: redisStore(client), ...silence })
    await errorFor('refused', () => cache.peek('key'))
    // ioredis itself goes on to print what nobody hears.
    expect(said).toHaveBeenCalledWith(expect.stringContaining('Unhandled error event'), expect.anything())
    await cache.close()
    client.disconnect()
    said.mockRestore()
  },
)

test.skipIf(onNodeRedis)(
  'a client whose errors nobody hears says them as before, and keeps no listener of a closed store',
  async () => {
    await using server = await startRedis()
    const client = new Redis({ port: server.port, lazyConnect: true })
    const before = client.eventNames()
    const caches = Array.from({ length: 15 }, () => createCache({ store: redisStore(client) }))
    expect(client.listenerCount('error')).toBe(0)
    await once(client, 'ready')
    await Promise.all(caches.map((cache) => cache.close()))
    expect(client.eventNames()).toEqual(before)
    client.disconnect()
  },
)
