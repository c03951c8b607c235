import { once } from 'node:events'
import { Redis, type RedisOptions } from 'ioredis'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { CacheError } from '../../src/core/errors.ts'
import { createCache } from '../../src/index.ts'
import { portOf } from '../../src/redis/clients/redis-client.ts'
import { redisLock, redisStore } from '../../src/redis/index.ts'
import { clientLibrary, disconnect, nodeRedis, type OpenClient } from '../support/node-redis.ts'
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

interface Way {
  readonly make: Make
  readonly wakeUp: (typeof wakeUps)[number]
  readonly options: Options
}

/** A client of the test, which hears its own errors, as applications do. */
function clientOf({ make, options }: Pick<Way, 'make' | 'options'>): OpenClient {
  const client = make(options)
  if ('status' in client) (client as Redis).on('error', () => {})
  onTestFinished(() => disconnect(client))
  return client
}

/** The error of a call that is to load. */
async function errorOf(way: Way): Promise<CacheError> {
  const store = redisStore(clientOf(way), { wakeUp: way.wakeUp })
  const cache = createCache({ store, namespace: 'shop', commandTimeout: 300, warnings: false })
  onTestFinished(() => cache.close())
  return await cache
    .getOrLoad('key', () => 'loaded', { onStoreFailure: 'throw' })
    .then(
      () => expect.unreachable('it was loaded'),
      (error: unknown) => error as CacheError,
    )
}

describe.for(wakeUps)(`an error of a store on ${clientLibrary} with %s`, (wakeUp) => {
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
    const error = await errorOf({ make, wakeUp, options: { port: gone.port } })
    expect(error).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      reason: 'refused',
      message: expect.stringMatching(
        /^The store refuses connections, and did not answer within \d+ ms: connect ECONNREFUSED/,
      ),
      cause: { code: 'ECONNREFUSED' },
    })
  })

  test('says that the password is wrong, or missing', async () => {
    const wrong = await errorOf({ make, wakeUp, options: { port: server.port, password: 'geraten' } })
    expect(wrong).toMatchObject({ reason: 'password', cause: { message: expect.stringMatching(wrongPassword) } })
    expect(wrong.message).toMatch(/^The store refuses the user or the password/)
    expect(wrong.message).not.toContain('geraten')
    const missing = await errorOf({ make, wakeUp, options: { port: server.port } })
    expect(missing).toMatchObject({ reason: 'password', cause: { message: expect.stringMatching(/^NOAUTH/) } })
  })

  test('says that a right is missing', async () => {
    const login = { port: server.port, username: 'reader', password: 'secret' }
    expect(await errorOf({ make, wakeUp, options: login })).toMatchObject({
      reason: 'rights',
      message: expect.stringMatching(/^The store forbids a command: NOPERM .*evalsha/),
    })
  })

  test('says that the server is full', async () => {
    await server.exhaustMemory()
    onTestFinished(() => server.freeMemory())
    const options = { port: server.port, password: 'geheim' }
    expect(await errorOf({ make, wakeUp, options })).toMatchObject({
      reason: 'full',
      cause: { message: expect.stringMatching(/^OOM/) },
    })
  })

  test('says that the server is a replica', async () => {
    await server.makeReadOnly()
    onTestFinished(() => server.makeWritable())
    const options = { port: server.port, password: 'geheim' }
    expect((await errorOf({ make, wakeUp, options })).reason).toBe('readOnly')
  })

  test('says that the server loads its data, to a client that does not wait for that', async () => {
    await using slow = await startRedis()
    await slow.restartLoading(3_000)
    const options = { port: slow.port, enableReadyCheck: false }
    expect((await errorOf({ make, wakeUp, options })).reason).toBe('loading')
  })

  test('says how long a server was silent', async () => {
    await using silent = await startRedis()
    const client = clientOf({ make, options: { port: silent.port } })
    const cache = createCache({ store: redisStore(client, { wakeUp }), commandTimeout: 300, warnings: false })
    onTestFinished(() => cache.close())
    await cache.set('key', 1)
    await silent.freeze()
    const error: unknown = await cache.set('key', 2).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ reason: 'timeout', message: expect.stringMatching(/^The store did not answer with/) })
    silent.thaw()
  })

  test('no longer says what was wrong before', async () => {
    await using other = await startRedis()
    const client = clientOf({ make, options: { port: other.port, retryStrategy: () => 20 } })
    const cache = createCache({ store: redisStore(client, { wakeUp }), commandTimeout: 300, warnings: false })
    onTestFinished(() => cache.close())
    await cache.set('key', 1)
    await other.kill()
    const refused = await vi.waitFor(async () => {
      const error = (await cache.set('key', 1).catch((thrown: unknown) => thrown)) as CacheError
      expect(error.reason).toBe('refused')
      return error
    })
    expect(refused.cause).toMatchObject({ code: 'ECONNREFUSED' })
    await other.restart()
    await vi.waitFor(() => cache.set('key', 1), { timeout: 5_000 })
    await other.freeze()
    expect(await cache.set('key', 2).catch((thrown: unknown) => thrown)).toMatchObject({ reason: 'timeout' })
    other.thaw()
  })

  test.skipIf(withoutTls !== undefined)('says that the certificate is not accepted', async () => {
    await using secure = await startRedis({ tls: true })
    expect(await errorOf({ make, wakeUp, options: { port: secure.port, tls: {} } })).toMatchObject({
      reason: 'certificate',
      cause: { code: 'SELF_SIGNED_CERT_IN_CHAIN' },
    })
  })
})

test('a lock says why, too', async () => {
  await using server = await startRedis({ password: 'geheim' })
  const client = clientOf({ make, options: { port: server.port, password: 'geraten' } })
  await using lock = redisLock(client)
  expect(await lock.tryAcquire('job').catch((thrown: unknown) => thrown)).toMatchObject({
    code: 'STORE_UNAVAILABLE',
    reason: 'password',
    cause: { message: expect.stringMatching(wrongPassword) },
  })
})

test('a lock that polls no longer says what was wrong before', async () => {
  await using server = await startRedis()
  const client = clientOf({ make, options: { port: server.port, retryStrategy: () => 20 } })
  await using lock = redisLock(client, { wakeUp: 'poll', commandTimeout: 300 })
  const tried = (): Promise<unknown> => lock.tryAcquire('job').catch((thrown: unknown) => thrown)
  await tried()
  await server.kill()
  await vi.waitFor(async () => expect(await tried()).toMatchObject({ reason: 'refused' }))
  await server.restart()
  await vi.waitFor(() => portOf(client).call('ping', null, []), { timeout: 5_000 })
  await server.freeze()
  expect(await tried()).toMatchObject({ reason: 'timeout' })
  server.thaw()
})

test.skipIf(onNodeRedis)(
  'the reason is known although nobody listens to the client, by the connection for messages',
  async () => {
    const said = vi.spyOn(console, 'error').mockReturnValue()
    const gone = await startRedis()
    await gone.stop()
    const client = new Redis({ port: gone.port })
    const cache = createCache({ store: redisStore(client), commandTimeout: 300, warnings: false })
    expect(await cache.peek('key').catch((thrown: unknown) => thrown)).toMatchObject({ reason: 'refused' })
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
