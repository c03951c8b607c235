import { hostname } from 'node:os'
import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import {
  createCache,
  type Cache,
  type CacheOptions,
  type CallOptions,
  type Explanation,
  type HeldLease,
} from '../../src/index.ts'
import { redisLock, redisStore, type RedisClient } from '../../src/redis/index.ts'
import { until } from '../../tools/until.mjs'
import { patient } from '../support/fleet.ts'
import { startRedis } from '../support/servers.ts'
import { herdless } from './command.ts'

const server = await startRedis()

beforeEach(() => server.client.flushall())

afterAll(() => server.stop())

/** A cache of another process than the command, as it were, until the end of the test. */
function open(namespace: string, options: CacheOptions = {}, client: RedisClient = server.connect()): Cache {
  const cache = createCache({ store: redisStore(client), namespace, ...patient, ...options })
  onTestFinished(() => cache.close())
  return cache
}

/** A load that goes on until it is ended, and those who wait for it in another cache. */
async function loading(
  holder: Cache,
  waiter: Cache | null,
  key: string,
  options: CallOptions = {},
): Promise<{ end: () => Promise<unknown> }> {
  let end!: (value: string) => void
  const value = new Promise<string>((resolve) => (end = resolve))
  const begun = new Promise<void>((resolve) => holder.on('load', (load) => load.key === key && resolve()))
  const answers = [holder.getOrLoad(key, () => value, options)]
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
  const [a, b] = [open('sh:op'), open('sh:op', { failureCooldown: '1m' })]
  const other = open('other')
  const { end } = await loading(a, b, 'user:1')
  const load = await loading(other, null, 'k')

  const { load: told } = await b.explain('user:1')
  expect(told).toMatchObject({ holder: { host: hostname(), pid: process.pid }, renewals: 0, waiting: 1 })
  const explained = await herdless(['explain', server.url, 'user:1', '--namespace', 'sh:op'])
  expect(explained).toMatchObject({ code: 0, err: '' })
  expect(explained.out).toContain('"user:1" in namespace sh:op: missing\n')
  expect(explained.out).toMatch(new RegExp(`Process ${process.pid} on ${hostname()} has loaded it for [\\d.]+ m?s`))
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
  expect(ofOne.out).toMatch(/\n1 load under way\n$/)

  await Promise.all([end(), load.end()])
  await b.getOrLoad('bad', () => Promise.reject(new Error('down'))).catch(() => null)
  const bad = await herdless(['explain', server.url, 'bad', '--namespace', 'sh:op', '--json'])
  expect(JSON.parse(bad.out)).toMatchObject({
    state: 'missing',
    rest: { state: 'failed', error: { code: 'LOAD_FAILED' } },
  })
  expect((await herdless(['leases', server.url])).out).toBe('Nothing is being loaded\n')
})

test('leases are found among any number of keys, behind a key prefix with signs that mean something in a pattern', async () => {
  const client = server.connect({ keyPrefix: 'a[b]*?{c}:' })
  const [cache, others] = [open('n*[x]?', {}, client), open('nyx?', {}, client)]
  await server.client.mset(Array.from({ length: 5_000 }, (_, index) => [`other:${index}`, 'v']).flat())
  const loads = await Promise.all(['k', '}:lease', ':lease'].map((key) => loading(cache, null, key)))
  const another = await loading(others, null, 'k')
  expect(await keysOf(cache.leases())).toEqual([':lease', 'k', '}:lease'])
  await Promise.all([...loads, another].map(({ end }) => end()))
})

test('the other namespaces are named where the given one has nothing, by explain and by the doctor', async () => {
  const caches = ['shop', 'a:b%'].map((namespace) => open(namespace))
  await using lock = redisLock(server.connect())
  await lock.run('job', () => {})
  const typo = ['--namespace', 'shpo', server.url] as const
  expect((await herdless(['explain', ...typo, 'k'])).out).not.toContain('Nothing is stored')
  for (const cache of caches) await cache.set('k', 1)
  const expected = 'Nothing is stored in namespace shpo. Did you mean --namespace a:b% or shop?'
  // Before anything else.
  expect((await herdless(['explain', ...typo, 'k'])).out).toMatch(
    /^"k" in namespace shpo: missing\n\nNothing is stored/,
  )
  expect((await herdless(['explain', ...typo, 'k'])).out).toContain(`\n${expected}\n`)
  expect((await herdless(['doctor', ...typo])).out).toMatch(/note +namespace +Nothing is stored .* shop\?/)
  // Nothing is wrong with a namespace that has another key.
  const other = ['--namespace', 'shop', server.url] as const
  expect((await herdless(['explain', ...other, 'another'])).out).not.toContain('Nothing is stored')
  expect((await herdless(['doctor', ...other])).out).not.toContain('Nothing is stored')
  await server.forbid('scan')
  onTestFinished(() => server.permit('scan'))
  const without = await herdless(['explain', ...typo, 'k'])
  expect(without.code).toBe(0)
  expect(without.out).not.toContain('Nothing is stored')
})

test('explain takes the only namespace that there is, and a key as purge does', async () => {
  await open('shop').set('k', 1)
  for (const args of [['k'], ['--key', 'k']]) {
    const { code, out } = await herdless(['explain', `localhost:${server.port}`, ...args])
    expect(out).toMatch(/^"k" in namespace shop: fresh\n\nThere is a value, written [\d.]+ m?s ago .*\n/)
    expect(out).toMatch(/\nvalue {2}age [\d.]+ m?s, ttl [\d.]+ s, .*, size 1 byte, /)
    expect(code).toBe(0)
  }
  expect(JSON.parse((await herdless(['explain', server.url, 'k', '--json'])).out)).toMatchObject({ namespace: 'shop' })
  await open('another').set('k', 1)
  expect((await herdless(['explain', server.url, 'k'])).out).toContain('Did you mean --namespace another or shop?')
})

test('explain reports on the value of a version, and says of a key without that it has such values', async () => {
  await open('shop', { version: 2 }).set('k', 'value')
  const explain = async (...args: readonly string[]): Promise<Explanation> =>
    JSON.parse((await herdless(['explain', server.url, ...args, '--json'])).out) as Explanation
  const hint = expect.stringMatching(
    /^The key has, or had, values of a version.*: --of-version <version> reports on one$/,
  )
  // With the namespace, and where it is the only one.
  for (const namespace of [['--namespace', 'shop'], []]) {
    const without = await explain('k', ...namespace)
    expect(without).toMatchObject({ state: 'missing', value: null, because: [expect.any(String), hint] })
    expect(await explain('k', '--of-version', '2', ...namespace)).toMatchObject({ state: 'fresh', value: { size: 7 } })
    expect((await explain('k', '--of-version', '1', ...namespace)).because).toHaveLength(1)
    expect((await explain('other', ...namespace)).because).toHaveLength(1)
  }
})

test('a user without the right to SCAN may explain, and not list', async () => {
  await server.client.call('ACL', 'SETUSER', 'shop', 'on', '>secret', '~{shop:*', '&herdless:inbox:*', '+@all', '-scan')
  const cache = open('shop', {}, server.connect({ username: 'shop', password: 'secret' }))
  expect((await cache.explain('k')).state).toBe('missing')
  await expect(keysOf(cache.leases())).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
    cause: { name: 'ReplyError' },
  })
})

test('the command sources tells what runs under each limit, and who waits', async () => {
  expect(await herdless(['sources', server.url])).toMatchObject({ code: 0, err: '', out: 'No source is in use\n' })
  expect(await herdless(['sources', server.url, '--json'])).toMatchObject({ code: 0, err: '', out: '' })

  const sources = { pg: { concurrency: 2 }, api: { rate: { loads: 100, per: '10m' } } } as const
  const [a, b] = [open('shop', { sources }), open('shop', { sources })]
  let running = 0
  let end!: (value: string) => void
  const value = new Promise<string>((resolve) => (end = resolve))
  const load = (): Promise<string> => (running++, value)
  const answers = [1, 2].map((key) => a.getOrLoad(`a${key}`, load, { source: 'pg' }))
  await until('two loads run', () => running === 2)
  answers.push(...[1, 2, 3].map((key) => b.getOrLoad(`b${key}`, load, { source: 'pg' })))
  answers.push(a.getOrLoad('c', () => 'v', { source: 'api' }))

  type Told = { readonly waiting: { readonly permits: number }; readonly oldest: number | null }
  const [api, pg] = await until('three loads are known to wait', async () => {
    const { out } = await herdless(['sources', server.url, '--json'])
    const told = out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Told]))
    return told.length === 2 && told[1]?.waiting.permits === 3 ? told : undefined
  })
  expect(api).toMatchObject({ source: 'api', concurrency: null, rate: { loads: 100, per: 600_000, begun: 1 } })
  expect(pg).toEqual({
    source: 'pg',
    concurrency: 2,
    held: 2,
    oldest: expect.any(Number) as number,
    users: 2,
    waiting: { users: 1, permits: 3 },
    rate: null,
  })

  const older = /"pg" {2}2 of 2 loads running, the oldest for [1-9].* s; 2 processes, 1 wait for 3 loads/
  await until('the oldest load is older', async () => older.test((await herdless(['sources', server.url])).out))
  end('v')
  await Promise.all(answers)
  await Promise.all([a.close(), b.close()])
  expect((await herdless(['sources', server.url])).out).not.toContain('"pg"')
})

test('no command prints the control characters of a name or a message, or those that change the direction of text', async () => {
  const evil = 'a\u{9b}31m\u{202e}b'
  const turned = 'a\u{202e}b'
  const cache = open(turned, { sources: { [turned]: { concurrency: 1 } } })
  await cache.set('stored', 1, { tags: [evil] })
  const failing = cache.getOrLoad('failing', () => Promise.reject(new Error(evil)), { failureCooldown: '1m' })
  await expect(failing).rejects.toThrow(evil)
  const { end } = await loading(cache, null, evil, { source: turned })
  onTestFinished(async () => void (await end()))
  const commands = [
    ['leases', server.url],
    ['sources', server.url],
    ...[evil, 'stored', 'failing', 'none'].map((key) => ['explain', '--namespace', turned, server.url, key]),
    // The namespace is not that of any, so others are named.
    ['explain', '--namespace', 'typo', server.url, 'k'],
    ['doctor', '--namespace', 'typo', server.url],
    ['mode', '--namespace', turned, server.url],
    ['purge', '--namespace', turned, '--tag', evil, server.url],
  ]
  for (const words of commands) {
    const { out } = await herdless(words)
    const signs = out.match(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u{fffd}]/gu)
    expect({ words, signs: new Set(signs) }).toEqual({ words, signs: new Set(['\u{fffd}', '\n']) })
  }
})

const nobody = 'Nobody could be asked'

test.for([
  [['explain', 'redis://:geheim@127.0.0.1:1', 'k'], `${nobody}: The store refuses connections: connect ECONNREFUSED`],
  [
    ['leases', '127.0.0.1:1'],
    `${nobody}: The store refuses connections: connect ECONNREFUSED 127.0.0.1:1. Nothing listens there`,
  ],
  [['watch', 'redis://:geheim@127.0.0.1:1'], `${nobody}: The store refuses connections`],
  [
    ['watch', 'redis://one', '--interval', '5'],
    'Expected --interval to be a time of 100ms or more with its unit, such as 500ms or 5s, got "5"',
  ],
  [['watch', 'redis://one', '--interval', '5ms'], 'Expected --interval to be a time of 100ms or more with its unit'],
  [['watch', 'redis://one', '--interval', '1 s'], 'Expected --interval to be'],
  [['watch', 'redis://one', '--namespace', 'a{b'], 'Expected `namespace` to be'],
  [['watch', 'redis://one', '--intervall', '1s'], "Unknown option '--intervall' (Did you mean --interval?)"],
  [['explain', 'redis://:geheim@127.0.0.1:1'], 'Expected a key behind the URL. `herdless help explain` says more'],
  [['explain'], 'Expected a key behind the URL'],
  [['explain', 'k'], 'Expected the URL of a Redis'],
  [['explain', 'http://:geheim@host', 'k'], 'Expected a URL such as redis://'],
  [['explain', 'redis://:geheim@one/oops', 'k'], 'Expected the path of the URL to be the number of a database'],
  [['explain', 'redis://:geheim@one/1.5', 'k'], 'Expected the path of the URL to be the number of a database'],
  [['leases', 'redis://:geheim@one/-1'], 'Expected the path of the URL to be the number of a database'],
  [['explain', 'redis://one', 'k', '--of-version', '='], 'Expected `version` to be'],
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
