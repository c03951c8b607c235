import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Cluster, type Redis } from 'ioredis'
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { patient, reuseProcesses, startFleet, tally, type FleetShape, type Member } from '../support/fleet.ts'
import { builtPackage } from '../support/fleet-build.ts'
import { hearCommands } from '../support/own-client.mjs'
import { startProxy } from '../support/proxy.ts'
import { startCluster, startRedis } from '../support/servers.ts'
import { createClient } from 'redis'
import { createCache, type Cache } from '../../src/index.ts'
import { redisStore } from '../../src/redis/index.ts'

reuseProcesses()
const server = await startRedis()
const redis = { options: server.address }

beforeEach(() => server.client.flushall())

afterAll(() => server.stop())

describe('close()', () => {
  test.for([
    ['read', 'get'],
    ['claim', 'evalsha'],
  ] as const)('while a %s is on its way starts no loader and leaves no lease', async ([, command]) => {
    await using proxy = await startProxy(server)
    const far = { options: { host: proxy.host, port: proxy.port } }
    await using fleet = await startFleet({ processes: 1, redis: far, cache: patient })
    const [member] = fleet.members as [Member]
    const sent = proxy.stopAt(command)
    const { answers } = await member.ask('key', { callers: 5 })
    await sent
    const closing = member.close({ timeout: 0 })
    expect(tally(await answers)).toEqual([{ told: 'CLOSED', callers: 5 }])
    proxy.heal()
    await closing
    await until('no lease is left', async () => (await server.client.exists('{herdless:key}:lease')) === 0)
    expect(fleet.loads).toEqual([])
  })

  test('resolves although Redis is frozen', async () => {
    await using fleet = await startFleet({ redis })
    const [holder, waiter] = fleet.members as [Member, Member]
    const ofHolder = await holder.ask('key')
    await fleet.load(0)
    const ofWaiter = await waiter.ask('key')
    await fleet.waits(1)
    onTestFinished(() => server.thaw())
    await server.freeze()
    await Promise.all([holder.close({ timeout: 100 }), waiter.close({ timeout: 100 })])
    expect(tally(await ofHolder.answers)).toEqual([{ told: 'CLOSED', callers: 1 }])
    expect(tally(await ofWaiter.answers)).toEqual([{ told: 'CLOSED', callers: 1 }])
  })
})

const libraries = [
  ['ioredis', async () => server.connect()],
  ['node-redis', async () => createClient({ url: server.url }).connect()],
] as const

describe.each(libraries)('stores of one client of %s', (_, connect) => {
  const channels = async (): Promise<number> => {
    return ((await server.client.pubsub('CHANNELS', 'herdless:inbox:*')) as unknown[]).length
  }
  const open = (client: object, namespace: string): Cache =>
    createCache({ store: redisStore(client as Redis), namespace, near: {} })

  test('share one connection for messages, until the last of them is closed', async () => {
    const client = await connect()
    onTestFinished(async () => void (await client.quit()))
    const caches = Array.from({ length: 5 }, (_each, index) => open(client, `shared-${index % 2}`))
    await Promise.all(caches.map((cache) => cache.getOrLoad('key', () => 1)))
    await until('one is subscribed', async () => (await channels()) === 1)
    const [first, ...others] = caches as [Cache, ...Cache[]]
    await first.close()
    expect(await channels()).toBe(1)
    for (const cache of others) {
      expect(await cache.getOrLoad('other', () => 2)).toBe(2)
      await cache.close()
    }
    await until('none is subscribed', async () => (await channels()) === 0)
    const again = open(client, 'shared-0')
    expect(await again.getOrLoad('key', () => 3)).toBe(1)
    await until('one is subscribed again', async () => (await channels()) === 1)
    await again.close()
  })

  test('have their subscription again when it is connected again', async () => {
    const client = await connect()
    await using cache = createCache({ store: redisStore(client as Redis), ...patient })
    await cache.getOrLoad('key', () => 1)
    await until('it listens', async () => (await channels()) === 1)
    await ('close' in client ? client.close() : client.quit())
    await until('it listens no more', async () => (await channels()) === 0)
    await client.connect()
    onTestFinished(async () => void (await client.quit()))
    await until('it listens again', async () => (await channels()) === 1)
    expect(await cache.getOrLoad('key', () => 2)).toBe(1)
  })
})

describe('after close() and quit() nothing keeps the process alive', () => {
  const shapes: [string, Partial<FleetShape>][] = [
    ['with a subscription', {}],
    ['without', { store: { wakeUp: 'poll' } }],
  ]

  test.for(shapes)('%s', async ([, shape]) => {
    const cache = { ...patient, ttl: 1, grace: 60_000 }
    await using fleet = await startFleet({ redis, cache, ...shape })
    const [member, other] = fleet.members as [Member, Member]
    // What leaves timers behind: a refresh, a failed one, a failure, a pass, a load elsewhere, a caller's patience.
    await member.get('key')
    await until('it is stale', async () => (await member.peek('key')).state === 'stale')
    await member.get('key', { ms: 0, error: { name: 'Error', message: 'of the refresh' } })
    await member.get('failed', { ms: 0, error: { name: 'Error', message: 'of the load' } })
    await member.get('passed', { ms: 0, doNotStore: true })
    await other.ask('elsewhere')
    const load = await until('it loads', () => fleet.loadsOf('elsewhere')[0])
    const waiting = await member.ask('elsewhere')
    await fleet.waits(1)
    await load.finish()
    await waiting.answers
    await member.close()
    await member.quit()
    await expect(member.process.ended()).resolves.toBeUndefined()
  })

  test('where a loader is still at work that was given up', async () => {
    await using fleet = await startFleet({ processes: 1, redis })
    const [member] = fleet.members as [Member]
    await member.ask('key')
    await fleet.load(0)
    await member.close({ timeout: 0 })
    await member.quit()
    await expect(member.process.ended()).resolves.toBeUndefined()
  })

  test('where Redis is away', async () => {
    await using gone = await startRedis()
    const impatient = { options: { ...gone.address, maxRetriesPerRequest: 0 } }
    await using fleet = await startFleet({ processes: 1, redis: impatient })
    const [member] = fleet.members as [Member]
    await member.get('key')
    await gone.kill()
    await member.get('another key')
    await member.close()
    await member.disconnect()
    await expect(member.process.ended()).resolves.toBeUndefined()
  })
})

describe('a cache that was never closed keeps no process alive', () => {
  const shapes: [string, Partial<FleetShape>][] = [
    ['with a subscription', {}],
    ['with copies', { cache: { ...patient, near: {} } }],
    ['without a subscription', { store: { wakeUp: 'poll' } }],
  ]

  test.for(shapes)('%s, when its client has quit', async ([, shape]) => {
    await using fleet = await startFleet({ redis, cache: patient, ...shape })
    const [member, other] = fleet.members as [Member, Member]
    await member.ask('elsewhere')
    const load = await fleet.load(0)
    const waiting = await other.ask('elsewhere')
    await fleet.waits(1)
    await load.finish()
    await waiting.answers
    await other.quit()
    await expect(other.process.ended()).resolves.toBeUndefined()
  })

  test('in memory', async () => {
    const program = `import { createCache, memoryLock } from ${JSON.stringify(join(await builtPackage(), 'index.js'))}
      const cache = createCache({ ttl: '1h', grace: '1h' })
      console.log(await cache.getOrLoad('key', () => 'value'), await memoryLock().run('job', () => 'done'))`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
      timeout: 120_000,
    })
    expect(stdout).toBe('value done\n')
  })
})

test('closing while copies are dropped sends nothing more, though Redis has forgotten its scripts', async () => {
  const client = server.connect()
  const cache = createCache({ store: redisStore(client), ...patient })
  await cache.getOrLoad('key', () => 1)
  await server.client.script('FLUSH')
  // It replaces a fresh value, of which other processes may have copies; nobody waits until they have dropped them.
  await cache.refresh('key', () => 2)
  await cache.close()
  const sent: string[] = []
  await hearCommands(client, (command) => sent.push(command))
  await client.ping()
  await client.ping()
  expect(sent).toEqual(['ping', 'ping'])
})

test('closing while the subscription is asked for again leaves no rejection to nobody', async () => {
  await using proxy = await startProxy(server)
  const client = server.connect()
  client.duplicate = () => server.connect({ host: proxy.host, port: proxy.port })
  const cache = createCache({ store: redisStore(client), ...patient })
  await cache.getOrLoad('key', () => 1)
  await until('it listens', async () => (await server.client.pubsub('CHANNELS')).length === 1)
  const rejections: unknown[] = []
  const hear = (error: unknown): void => void rejections.push(error)
  process.on('unhandledRejection', hear)
  try {
    const again = proxy.stopAt('subscribe')
    proxy.cut()
    await again
    await cache.close()
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect(rejections).toEqual([])
  } finally {
    process.off('unhandledRejection', hear)
  }
})

/** The connections of a cluster client to its nodes, which ioredis does not show. */
interface Pool {
  readonly nodes: { readonly all: Record<string, Redis> }
  reset(nodes: object[]): void
}

test('close() ends the connection to a node that left and came back', async () => {
  await using cluster = await startCluster()
  const client = new Cluster(cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port })))
  const duplicates: object[] = []
  const duplicate = client.duplicate.bind(client)
  client.duplicate = (...args) => {
    const made = duplicate(...args)
    duplicates.push(made)
    return made
  }
  const cache = createCache({ store: redisStore(client), ...patient })
  try {
    await cache.getOrLoad('key', () => 1)
    const pool = Reflect.get(duplicates[0] ?? {}, 'connectionPool') as Pool
    const [name, old] = await until('one is connected', () =>
      Object.entries(pool.nodes.all).find(([, { status }]) => status === 'ready'),
    )
    const nodes = Object.values(pool.nodes.all).map(({ options: { host, port } }) => ({ host, port }))
    pool.reset(nodes.filter(({ port }) => port !== old.options.port))
    pool.reset(nodes)
    const back = pool.nodes.all[name]
    expect(back).not.toBe(old)
    await back?.connect()
    await until('the old one has ended', () => old.status === 'end')
    await cache.close()
    await until('that which came back has ended', () => back?.status === 'end')
  } finally {
    await cache.close()
    client.disconnect()
  }
})
