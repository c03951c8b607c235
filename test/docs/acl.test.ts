import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createCache, type Cache } from '../../src/index.ts'
import { redisStore, type RedisClient } from '../../src/redis/index.ts'
import { startCluster, startRedis, type RedisServer } from '../support/servers.ts'
import { allow, denied, named, refusedWithout, ruleOn, type Denied } from './acl.ts'
import { doc } from './markdown.ts'

const page = doc('docs/redis.md')

/** The words of a rule on the page, from the name of the user on. */
function rule(name: 'push' | 'poll'): string[] {
  return ruleOn('docs/redis.md', name)
}

/** Resolves when a call loads or waits, or when the command that it needs for that is refused. */
function underWay(cache: Cache): Promise<unknown> {
  return new Promise((resolve) => {
    for (const event of ['load', 'wait', 'storeFailure'] as const) cache.on(event, resolve)
  })
}

/** Does something while a load runs, which then ends. */
async function duringLoad(cache: Cache, work: (load: () => Promise<void>) => Promise<unknown>): Promise<void> {
  let finish!: () => void
  const finished = new Promise<void>((resolve) => (finish = resolve))
  const load = (): Promise<void> => finished
  const begun = underWay(cache)
  const loaded = cache.getOrLoad('slow', load, { leaseTtl: 60 })
  await begun
  await work(load).catch(() => null)
  finish()
  await loaded.catch(() => null)
}

/** Makes the library send everything that it ever sends. */
async function useAll(
  server: RedisServer,
  connect: () => RedisClient,
  wakeUp: 'push' | 'poll',
  prefix = '',
): Promise<void> {
  await server.client.flushall()
  await server.client.script('FLUSH')
  const options = { namespace: 'shop', ttl: 1, grace: '1m', failureCooldown: 0, waitTimeout: '1s' } as const
  const caches = [connect(), connect()].map((client) =>
    createCache({ ...options, store: redisStore(client, { wakeUp }) }),
  )
  const [one, other] = caches as [Cache, Cache]
  const nothing = (): null => null
  try {
    // Several in one tick; a hit; an error.
    await Promise.allSettled([one.getOrLoad('a', nothing), one.getOrLoad('b', nothing)])
    // Tags: with a load, with a set, invalidated, and again.
    for (let round = 0; round < 2; round++) {
      await one.getOrLoad('tagged', nothing, { tags: ['t'] }).catch(nothing)
      await one.set('tagged', 1, { tags: ['t'], ttl: '1d' }).catch(nothing)
      await other.peek('tagged').catch(nothing)
      await other.invalidateTags(['t']).catch(nothing)
    }
    await Promise.allSettled([one.getOrLoad('bad', () => Promise.reject(new Error('bad')))])
    // A wait for a load that is renewed.
    let waiting: Promise<unknown> | undefined
    await duringLoad(one, async (load) => {
      const waits = underWay(other)
      waiting = other.getOrLoad('slow', load)
      await waits
      await sleep(60)
    })
    await waiting?.catch(nothing)
    // Copies near a process, and a change of what was copied.
    if (wakeUp === 'push') {
      const near = createCache({ ...options, ttl: '1m', store: redisStore(connect(), { wakeUp }), near: {} })
      caches.push(near)
      for (let round = 0; round < 3; round++) {
        await near.getOrLoad('near', nothing).catch(nothing)
        await sleep(20)
      }
      await one.invalidate('near').catch(nothing)
    }
    // Scripts that were flushed; a stale value; an invalidation and a set in the middle of a load.
    await server.client.script('FLUSH')
    await Promise.allSettled([one.getOrLoad('a', nothing)])
    await duringLoad(one, () => other.invalidate('slow'))
    await one.invalidate('slow').catch(nothing)
    await duringLoad(one, () => other.set('slow', 'set'))
    // A holder that died.
    const lease = {
      state: 'held',
      token: 'somebody-s-token',
      version: '1',
      inbox: 'herdless:inbox:nobody',
      watched: '1',
    }
    await server.client.hset(`${prefix}{shop:dead}:lease`, lease)
    await server.client.pexpire(`${prefix}{shop:dead}:lease`, 200)
    await one.getOrLoad('dead', nothing)
  } finally {
    await Promise.all(caches.map((cache) => cache.close()))
  }
}

describe('the rules for a user', () => {
  let server: RedisServer
  const open: Redis[] = []

  beforeAll(async () => {
    server = await startRedis()
  })

  afterAll(async () => {
    await server?.stop()
  })

  const login = { username: 'shop', password: 'secret' }

  function connect(options: object = {}): RedisClient {
    const client = new Redis({ ...server.address, ...login, ...options })
    client.on('error', () => {})
    open.push(client)
    return client
  }

  /** The scenario as this user, and what was refused meanwhile. */
  async function refused(
    words: readonly string[],
    wakeUp: 'push' | 'poll',
    make = connect,
    prefix = '',
  ): Promise<Denied[]> {
    await allow(server, words)
    try {
      await useAll(server, make, wakeUp, prefix)
    } finally {
      for (const client of open.splice(0)) client.disconnect()
    }
    return denied(server)
  }

  test.for(['push', 'poll'] as const)('are enough for %s', async (wakeUp) => {
    expect(await refused(rule(wakeUp), wakeUp)).toEqual([])
  })

  test.for(rule('push').filter((word) => /^[+~&]/.test(word)))('need %s', async (word) => {
    // ioredis says that it goes without INFO.
    vi.spyOn(console, 'warn').mockReturnValue()
    const rest = rule('push').filter((other) => other !== word)
    expect(named(await refused(rest, 'push'))).toContain(refusedWithout(word))
  })

  test('leave nothing behind that never expires, even without +pexpire', async () => {
    const rest = rule('push').filter((word) => word !== '+pexpire')
    expect((await refused(rest, 'push')).map(({ object }) => object)).toContain('pexpire')
    const keys = await server.client.keys('{shop:*')
    const left = await Promise.all(keys.map((key) => server.client.pttl(key)))
    expect(left.filter((ms) => ms === -1)).toEqual([])
  })

  test('differ by what pub/sub and near copies need, and by nothing else', () => {
    const pubsub = ['&herdless:inbox:*', '+hget', '+publish', '+subscribe', '+pubsub|numsub']
    expect(rule('push').filter((word) => !pubsub.includes(word))).toEqual(rule('poll'))
  })

  test('hold with a prefix before the brace', async () => {
    const words = rule('push').map((word) => word.replace('~{', '~prefix:{'))
    expect(await refused(words, 'push', () => connect({ keyPrefix: 'prefix:' }), 'prefix:')).toEqual([])
  })

  test('allow a store that pushes to do without, where pub/sub is forbidden', async () => {
    await allow(server, rule('poll'))
    await server.client.flushall()
    const caches = [connect(), connect()].map((client) => createCache({ store: redisStore(client), namespace: 'shop' }))
    const load = vi.fn(() => sleep(100, 'loaded'))
    expect(await Promise.all(caches.map((cache) => cache.getOrLoad('key', load)))).toEqual(['loaded', 'loaded'])
    expect(load).toHaveBeenCalledOnce()
    await Promise.all(caches.map((cache) => cache.close()))
    for (const client of open.splice(0)) client.disconnect()
    expect((await denied(server)).map(({ object }) => object)).toContain('subscribe')
  })

  test('allow nothing else', async () => {
    await allow(server, rule('push'))
    const user = new Redis({ ...server.address, ...login })
    const others = [
      ['GET', 'other:key'],
      ['GET', '{shopping:key}'],
      ['SET', 'herdless:inbox:1', '1'],
      ['EVAL', `return redis.call('GET', 'other:key')`, 0],
      ['EVAL', `return redis.call('KEYS', '*')`, 0],
      ['SUBSCRIBE', 'other'],
      ['PUBLISH', 'other', 'x'],
      ['PUBSUB', 'CHANNELS'],
      ['SCRIPT', 'FLUSH'],
      ['SCAN', 0],
      ['KEYS', '*'],
      ['FLUSHALL'],
      ['CONFIG', 'GET', '*'],
    ] as const
    for (const [command, ...args] of others) {
      const answer = await user.call(command, ...args).catch((error: unknown) => String(error))
      expect({ command, answer }).toEqual({
        command,
        answer: expect.stringMatching(/NOPERM|permission|can't (run|access)/i) as string,
      })
    }
    user.disconnect()
  })

  test('need SELECT for a client that selects a database', async () => {
    const inDatabase1 = (): RedisClient => connect({ db: 1 })
    expect((await refused(rule('push'), 'push', inDatabase1)).map(({ object }) => object)).toContain('select')
    expect(await refused([...rule('push'), '+select'], 'push', inDatabase1)).toEqual([])
  })
})

test('the rules hold in a cluster, with what the page adds for it', async () => {
  await using cluster = await startCluster()
  const added = ['+cluster|slots', '+cluster|myid', '+cluster|info', '+client|setname']
  for (const word of added) expect(page.text).toContain(`\`${word}\``)
  for (const node of cluster.nodes) await allow(node, [...rule('push'), ...added])
  const connect = (): RedisClient => cluster.connect({ redisOptions: { username: 'shop', password: 'secret' } })
  const caches = [connect(), connect()].map((client) => createCache({ store: redisStore(client), namespace: 'shop' }))
  const answers = Array.from({ length: 20 }, (_, n) =>
    caches.map((cache) => cache.getOrLoad(`key:${n}`, () => sleep(50, n))),
  )
  await Promise.all(answers.flat())
  await caches[0]?.invalidate('key:1')
  await Promise.all(caches.map((cache) => cache.close()))
  for (const node of cluster.nodes) expect(await denied(node)).toEqual([])
})
