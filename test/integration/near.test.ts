import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { createCache, type Cache, type NearOptions } from '../../src/index.ts'
import { portOf } from '../../src/redis/clients/redis-client.ts'
import { redisStore, type RedisPort } from '../../src/redis/index.ts'
import { copied, never } from '../support/caches.ts'
import { CommandCounter, withoutCare } from '../support/command-counts.ts'
import { disconnect, openClient, portWith, type OpenClient } from '../support/node-redis.ts'
import { startRedis, type RedisServer } from '../support/servers.ts'

describe('the near tier before Redis', () => {
  let server: RedisServer
  let counter: CommandCounter
  const opened: { cache: Cache; client: OpenClient }[] = []

  beforeAll(async () => {
    server = await startRedis()
    counter = await CommandCounter.start(server.client)
  })

  // A process with copies asks for signs all the time, which the next test would count.
  afterEach(async () => {
    for (const { cache, client } of opened.splice(0)) {
      await cache.close()
      disconnect(client)
    }
  })

  afterAll(async () => {
    counter.stop()
    await server.stop()
  })

  function open(namespace: string, near?: NearOptions): Cache {
    const client = openClient(server.address)
    const cache = createCache({ store: redisStore(client), namespace, ttl: '1h', near, commandTimeout: '30s' })
    opened.push({ cache, client })
    return cache
  }

  /** What is sent meanwhile to read and load. */
  async function sent(run: () => Promise<unknown>): Promise<object> {
    await counter.reset()
    await run()
    const { get = 0, mget = 0 } = await counter.counts()
    return { get, mget }
  }

  test('asks Redis for nothing that it has a copy of, tags or not, and once for what it has none of', async () => {
    const namespace = randomUUID()
    const [near, other] = [open(namespace, {}), open(namespace)]
    await other.set('none', 1)
    await other.set('tags', 1, { tags: ['x', 'y'] })
    for (const key of ['none', 'tags']) await copied(near, key)
    const hits = async (key: string): Promise<void> => {
      for (let call = 0; call < 100; call++) await near.getOrLoad(key, never)
    }
    for (const key of ['none', 'tags']) expect(await sent(() => hits(key))).toEqual({ get: 0, mget: 0 })
    await other.invalidateTags(['x'])
    expect(await sent(() => hits('none'))).toEqual({ get: 0, mget: 0 })
    await other.set('tags', 2, { tags: ['x', 'y'] })
    expect(await sent(() => hits('tags'))).toEqual({ get: 0, mget: 1 })
  })

  test('costs whoever changes something nothing where nobody keeps copies', async () => {
    const cache = open(randomUUID())
    await cache.set('first', 1)
    await counter.reset()
    await cache.set('k', 1)
    await cache.invalidate('k')
    await cache.invalidateTags(['t'])
    const { evalsha, eval: whole = 0 } = await counter.counts()
    expect(Number(evalsha) + whole).toBe(3)
  })

  test('serves no copy of what has changed while its connection for messages was broken, however short', async () => {
    const namespace = randomUUID()
    const [near, other] = [open(namespace, { ttl: '1h' }), open(namespace)]
    await other.set('k', 'old')
    await copied(near)
    const back = new Promise<void>((resolve) => near.on('push', ({ up }) => up && resolve()))
    await server.client.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
    const changed = other.set('k', 'new')
    await back
    // It goes on to say that it keeps copies, in time: nobody has noticed its absence.
    await counter.reset()
    await until('it says so again', async () => Number((await counter.counts())['evalsha']) > 3)
    await changed
    expect(await near.getOrLoad('k', never)).toBe('new')
  })

  test('goes on when it was thought to have ended, and serves no copy from before', async () => {
    const namespace = randomUUID()
    const [near, other] = [open(namespace, { ttl: '1h' }), open(namespace)]
    await other.set('k', 'old')
    await copied(near)
    // Redis forgets who keeps copies, and so nobody tells them.
    await server.client.del(`{${namespace}:}copies`)
    await other.set('k', 'new')
    await until('the copy is not served any more', async () => (await near.getOrLoad('k', never)) === 'new')
    await copied(near)
    expect(await near.getOrLoad('k', never)).toBe('new')
  })

  test('knows what was missed in all caches of its namespace, whichever of them hears of it', async () => {
    const namespace = randomUUID()
    const client = openClient(server.address)
    const store = redisStore(client)
    const both = [0, 1].map(() =>
      createCache({ store, namespace, ttl: '1h', near: { ttl: '1h' }, commandTimeout: '30s' }),
    )
    for (const cache of both) opened.push({ cache, client })
    const other = open(namespace)
    await other.set('k', 'old')
    for (const cache of both) await copied(cache)
    await server.client.del(`{${namespace}:}copies`)
    await other.set('k', 'new')
    // No read meanwhile, which would find the new value: both have asked for signs again, and had them.
    await counter.reset()
    await until('both have said so again', async () => Number((await counter.counts())['evalsha']) > 6)
    for (const cache of both) expect(await cache.getOrLoad('k', never)).toBe('new')
  })

  test('sends nothing once its cache is closed, whatever it is still told', async () => {
    const namespace = randomUUID()
    const other = open(namespace)
    await other.set('k', 'v')
    const client = openClient(server.address)
    let tell!: (bytes: Buffer) => void
    let change: Buffer | undefined
    const subscriber: RedisPort['subscriber'] = (channel, events) => {
      tell = events.message
      const message = (bytes: Buffer): void => {
        if (bytes.at(0) === 0x64) change = bytes
        tell(bytes)
      }
      return portOf(client).subscriber(channel, { ...events, message })
    }
    const port = portWith({ subscriber }, client)
    const near = createCache({ store: redisStore(port), namespace, ttl: '1h', near: {} })
    opened.push({ cache: near, client })
    await copied(near)
    await other.set('k', 'changed')
    const told = await until('it is told of the change', () => change)
    await near.close()
    await port.call('echo', null, ['behind all that it has sent'])
    await counter.reset()
    // One that was on its way, which only the end of its connection would have held up.
    tell(told)
    await port.call('echo', null, ['behind it'])
    expect(withoutCare(await counter.counts())).toEqual({ echo: 1 })
  })

  test('keeps nobody waiting once the last cache of its process is closed', async () => {
    const namespace = randomUUID()
    const client = openClient(server.address)
    // What its connection sends late is waited for.
    const call: RedisPort['call'] = async (command, key, args) => {
      if (command === 'hdel') for (let times = 0; times < 3; times++) await portOf(client).call('ping', null, [])
      return await portOf(client).call(command, key, args)
    }
    const store = redisStore(portWith({ call }, client))
    const [one, last] = [0, 1].map(() => createCache({ store, namespace, ttl: '1h', near: {} })) as [Cache, Cache]
    const writer = open(namespace)
    await writer.set('k', 'v')
    for (const cache of [one, last]) {
      opened.push({ cache, client })
      await copied(cache)
    }
    const list = `{${namespace}:}copies`
    await one.close()
    expect(await server.client.hkeys(list)).toHaveLength(2)
    await last.close()
    expect(await server.client.hkeys(list)).toEqual(['last'])
  })

  test('does not last longer in Redis than somebody keeps copies', async () => {
    const namespace = randomUUID()
    const [near, other] = [open(namespace, {}), open(namespace)]
    await other.set('k', 'v')
    await copied(near)
    const list = `{${namespace}:}copies`
    expect(await server.client.pttl(list)).toBeGreaterThan(0)
    await near.close()
    await until('the list has expired', async () => (await server.client.exists(list)) === 0)
  })

  test('serves no copies where there is something foreign in the place of the list, and changes are made', async () => {
    const namespace = randomUUID()
    await server.client.set(`{${namespace}:}copies`, 'foreign', 'PX', 60_000)
    const [near, other] = [open(namespace, {}), open(namespace)]
    await other.set('k', 1)
    for (let call = 0; call < 5; call++) expect(await near.getOrLoad('k', never)).toBe(1)
    await other.invalidate('k')
    await other.invalidateTags(['t'])
    expect(await near.getOrLoad('k', () => 2)).toBe(2)
    expect(near.stats().nearHits).toBe(0)
  })

  test('believes no stranger: what is not of its form is nothing, and nobody is answered who is no process', async () => {
    const namespace = randomUUID()
    const before = new Set(await server.client.pubsub('CHANNELS', 'herdless:inbox:*'))
    const [near, other] = [open(namespace, { ttl: '1h' }), open(namespace)]
    await other.set('k', 1)
    await copied(near)
    const inboxes = ((await server.client.pubsub('CHANNELS', 'herdless:inbox:*')) as string[]).filter(
      (name) => !before.has(name),
    )
    const key = `${namespace}:k`
    const token = 'x'.repeat(16)
    const bad = [
      '',
      '{',
      'null',
      '[]',
      '{}',
      JSON.stringify({ from: 'elsewhere', keys: [key], tags: [] }),
      JSON.stringify({ from: 5, keys: [key], tags: [] }),
      JSON.stringify({ from: '', keys: key, tags: [] }),
      JSON.stringify({ from: '', keys: [5], tags: [] }),
      JSON.stringify({ from: '', keys: [], tags: [] }),
    ]
    for (const inbox of inboxes) {
      for (const body of bad) await server.client.publish(inbox, `d${token}${body}`)
      await server.client.publish(inbox, `k${token}1`)
    }
    // Behind them, one that is of its form: when it has been heard, so have the others.
    await other.set('last', 1)
    await copied(near, 'last')
    await other.invalidate('last')
    expect(await sent(() => near.getOrLoad('k', never))).toEqual({ get: 0, mget: 0 })
  })

  test('is refused with a store whose processes cannot be told', () => {
    const client = openClient(server.address)
    expect(() => createCache({ store: redisStore(client, { wakeUp: 'poll' }), near: {} })).toThrow(TypeError)
    disconnect(client)
  })
})
