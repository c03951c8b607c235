import { hostname } from 'node:os'
import { expect, test } from 'vitest'
import { createCache, type Cache, type HeldLease } from '../../src/index.ts'
import { redisLock, redisStore } from '../../src/redis/index.ts'
import { startCluster, startRedis } from '../support/servers.ts'
import { herdless } from './doctor.ts'

/** A load that goes on until it is ended, and those who wait for it in another cache. */
async function loading(holder: Cache, waiter: Cache | null, key: string): Promise<{ end: () => Promise<unknown> }> {
  let end!: (value: string) => void
  const value = new Promise<string>((resolve) => (end = resolve))
  const begun = new Promise<void>((resolve) => holder.on('load', (load) => load.key === key && resolve()))
  const answers = [holder.getOrLoad(key, () => value)]
  await begun
  if (waiter !== null) {
    const waits = new Promise((resolve) => waiter.on('wait', resolve))
    answers.push(waiter.getOrLoad(key, () => value))
    await waits
  }
  return { end: () => (end('v'), Promise.all(answers)) }
}

async function keysOf(leases: AsyncIterable<HeldLease>): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of leases) keys.push(key)
  return keys.toSorted()
}

test('the commands explain and leases tell who loads and who waits, as the cache does', async () => {
  await using server = await startRedis()
  const clients = [server.connect(), server.connect()] as const
  const options = { namespace: 'sh:op', leaseTtl: '1m', failureCooldown: '1m' } as const
  const [a, b] = clients.map((client) => createCache({ store: redisStore(client), ...options })) as [Cache, Cache]
  const other = createCache({ store: redisStore(clients[0]), namespace: 'other' })
  const { end } = await loading(a, b, 'user:1')
  const load = await loading(other, null, 'k')

  const { load: told } = await b.explain('user:1')
  expect(told).toMatchObject({ holder: { host: hostname(), pid: process.pid }, renewals: 0, waiting: 1 })
  const explained = await herdless(['explain', server.url, 'user:1', '--namespace', 'sh:op'])
  expect(explained).toMatchObject({ code: 0, err: '' })
  expect(explained.out).toContain('"user:1" in namespace sh:op: missing\n')
  expect(explained.out).toMatch(new RegExp(`Process ${process.pid} on ${hostname()} has loaded it for \\d+ ms`))
  expect(explained.out).toContain(`token ${told?.token}, fence ${told?.fence}`)
  const listed = await herdless(['leases', server.url, '--json'])
  const leases = listed.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as HeldLease & { namespace: string })
  expect(new Set(leases.map(({ namespace, key, waiting }) => `${namespace} ${key} ${waiting}`))).toEqual(
    new Set(['other k 0', 'sh:op user:1 1']),
  )
  const ofOne = await herdless(['leases', '--namespace', 'other'], { REDIS_URL: server.url })
  expect(ofOne.out).toMatch(/^other "k" {2}process \d+ on /)
  expect(ofOne.out).toMatch(/\n1 being loaded\n$/)

  await Promise.all([end(), load.end()])
  await b.getOrLoad('bad', () => Promise.reject(new Error('down'))).catch(() => null)
  const bad = await herdless(['explain', server.url, 'bad', '--namespace', 'sh:op', '--json'])
  expect(JSON.parse(bad.out)).toMatchObject({
    state: 'missing',
    rest: { state: 'failed', error: { code: 'LOAD_FAILED' } },
  })
  expect((await herdless(['leases', server.url])).out).toBe('Nothing is being loaded\n')
  await Promise.all([a.close(), b.close(), other.close()])
})

test('leases are found among any number of keys, behind a key prefix with signs that mean something in a pattern', async () => {
  await using server = await startRedis()
  const client = server.connect({ keyPrefix: 'a[b]*?{c}:' })
  const cache = createCache({ store: redisStore(client), namespace: 'n*[x]?' })
  const others = createCache({ store: redisStore(client), namespace: 'nyx?' })
  await server.client.mset(Array.from({ length: 5_000 }, (_, index) => [`other:${index}`, 'v']).flat())
  const loads = await Promise.all(['k', '}:lease', ':lease'].map((key) => loading(cache, null, key)))
  const another = await loading(others, null, 'k')
  expect(await keysOf(cache.leases())).toEqual([':lease', 'k', '}:lease'])
  await Promise.all([...loads, another].map(({ end }) => end()))
  await Promise.all([cache.close(), others.close()])
})

test('the other namespaces are named where the given one has nothing, by explain and by the doctor', async () => {
  await using server = await startRedis()
  const client = server.connect()
  const caches = ['shop', 'a:b%'].map((namespace) => createCache({ store: redisStore(client), namespace }))
  await using lock = redisLock(client)
  await lock.run('job', () => {})
  const typo = ['--namespace', 'shpo', server.url] as const
  expect((await herdless(['explain', ...typo, 'k'])).out).not.toContain('Nothing is stored')
  for (const cache of caches) await cache.set('k', 1)
  const expected = 'Nothing is stored in namespace shpo. There is something in: a:b%, shop'
  expect((await herdless(['explain', ...typo, 'k'])).out).toContain(`\n${expected}\n`)
  expect((await herdless(['doctor', ...typo])).out).toMatch(new RegExp(`note +namespace +${expected}`))
  // Nothing is wrong with a namespace that has another key.
  const other = ['--namespace', 'shop', server.url] as const
  expect((await herdless(['explain', ...other, 'another'])).out).not.toContain('Nothing is stored')
  expect((await herdless(['doctor', ...other])).out).not.toContain('Nothing is stored')
  await server.client.call('ACL', 'SETUSER', 'default', '-scan')
  const without = await herdless(['explain', ...typo, 'k'])
  expect(without.code).toBe(0)
  expect(without.out).not.toContain('Nothing is stored')
  await Promise.all(caches.map((cache) => cache.close()))
})

test('the leases of all masters of a cluster are listed', async () => {
  await using cluster = await startCluster({ masters: 3 })
  const nodes = cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }))
  const client = cluster.connect()
  const cache = createCache({ store: redisStore(client), namespace: 'shop' })
  const keys = Array.from({ length: 12 }, (_, index) => `key ${index}`).toSorted()
  const loads = await Promise.all(keys.map((key) => loading(cache, null, key)))
  expect(await keysOf(cache.leases())).toEqual(keys)
  const url = `redis://127.0.0.1:${nodes[0]?.port}`
  const { code, out } = await herdless(['leases', '--cluster', url])
  expect(out).toMatch(/\n12 being loaded\n$/)
  expect(code).toBe(0)
  const explained = await herdless(['explain', '--cluster', '--namespace', 'shop', url, 'key 7'])
  expect(explained.out).toContain(`Process ${process.pid} on`)
  await Promise.all(loads.map(({ end }) => end()))
  await cache.close()
})

test('a user without the right to SCAN may explain, and not list', async () => {
  await using server = await startRedis()
  await server.client.call('ACL', 'SETUSER', 'shop', 'on', '>secret', '~{shop:*', '&herdless:inbox:*', '+@all', '-scan')
  const client = server.connect({ username: 'shop', password: 'secret' })
  const cache = createCache({ store: redisStore(client), namespace: 'shop' })
  expect((await cache.explain('k')).state).toBe('missing')
  await expect(keysOf(cache.leases())).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
    cause: { name: 'ReplyError' },
  })
  await cache.close()
})

test.for([
  [
    ['explain', 'redis://:geheim@127.0.0.1:1', 'k'],
    'Nobody could be asked: The store refuses connections: connect ECONNREFUSED',
  ],
  [
    ['leases', 'redis://:geheim@127.0.0.1:1'],
    'Nobody could be asked: The store refuses connections: connect ECONNREFUSED',
  ],
  [['explain', 'redis://:geheim@127.0.0.1:1'], 'Expected a key behind the URL. `herdless explain --help` says more'],
  [['explain'], 'Expected a key behind the URL'],
  [['explain', 'k'], 'Expected the URL of a Redis'],
  [['explain', 'http://:geheim@host', 'k'], 'Expected a URL such as redis://'],
  [['explain', 'redis://one', ''], 'Expected a key to be a well-formed string'],
  [['leases', 'redis://one', 'redis://:geheim@two'], 'Expected one URL, got 2'],
  [['leases', 'redis://one', '--namespace', 'a{b'], 'Expected `namespace` to be'],
  [['leases', 'redis://one', '--geheim'], "Unknown option '--geheim'"],
] as const)('%s ends with 2 and says why, without a password', async ([args, message]) => {
  const { code, out, err } = await herdless(args)
  expect(err).toContain(`herdless: ${message}`)
  expect(err.split('\n')).toHaveLength(2)
  expect(err).not.toContain(':geheim')
  expect({ code, out }).toEqual({ code: 2, out: '' })
})
