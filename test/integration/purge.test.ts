import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { cacheResponses } from '../../src/express/index.ts'
import { createCache, type Cache, type CacheOptions, type SetOptions } from '../../src/index.ts'
import { redisStore, type RedisClient } from '../../src/redis/index.ts'
import { until } from '../../tools/until.mjs'
import { allow, denied, named, ruleOn } from '../docs/acl.ts'
import { doc, named as codeIn, rows } from '../docs/markdown.ts'
import { patient } from '../support/fleet.ts'
import { builtPackage } from '../support/fleet-build.ts'
import { startCluster, startRedis, startSentinel } from '../support/servers.ts'
import { herdless } from './command.ts'

const server = await startRedis()

beforeEach(() => server.client.flushall())

afterAll(() => server.stop())

/** A cache of another process than the command, as it were, until the end of the test. */
function open(options: CacheOptions = {}, client: RedisClient = server.connect()): Cache {
  const cache = createCache({
    store: redisStore(client),
    namespace: 'shop',
    ttl: '1h',
    ...patient,
    ...options,
  })
  onTestFinished(() => cache.close())
  return cache
}

function purge(...args: readonly string[]): ReturnType<typeof herdless> {
  return herdless(['purge', server.url, '--namespace', 'shop', ...args])
}

const values: Record<string, SetOptions> = {
  'user:1:name': {},
  'user:1:cart': { tags: ['cart'] },
  'user:12:name': {},
  'page:7': { tags: ['product:7', 'page'] },
  '^odd': { tags: ['^odd'] },
}
const keys = Object.keys(values)

async function statesOf(cache: Cache, of: readonly string[] = keys): Promise<Record<string, string>> {
  return Object.fromEntries(await Promise.all(of.map(async (key) => [key, (await cache.peek(key)).state])))
}

function all(state: string): Record<string, string> {
  return Object.fromEntries(keys.map((key) => [key, state]))
}

/** A cache with values and near copies of them, and another that reads from Redis alone. */
async function filled(connect: () => RedisClient = () => server.connect()): Promise<[Cache, Cache]> {
  const options = { prefixes: ':', grace: '1h' } as const
  const near = open({ near: { max: 100 }, ...options }, connect())
  for (const [key, of] of Object.entries(values)) {
    await near.set(key, 'value', of)
    await near.getOrLoad(key, () => 'never')
  }
  return [near, open(options, connect())]
}

describe.for([
  { how: 'hard', gone: 'missing', said: 'voided', softly: [] },
  { how: 'soft', gone: 'stale', said: 'expired', softly: ['--soft'] },
] as const)('a $how purge holds in every process once it has ended', ({ gone, said, softly }) => {
  test.for([
    [['--key', 'user:1:name'], ['user:1:name'], ['key "user:1:name"']],
    [
      ['--key', '^odd', '--key', 'page:7'],
      ['^odd', 'page:7'],
      ['key "^odd"', 'key "page:7"'],
    ],
    [['--tag', 'page'], ['page:7'], ['tag "page"']],
    [
      ['--tag', '^odd', '--tag', 'cart'],
      ['^odd', 'user:1:cart'],
      ['tag "^odd"', 'tag "cart"'],
    ],
    [['--prefix', 'user:1:'], ['user:1:name', 'user:1:cart'], ['prefix "user:1:"']],
    [['--all'], keys, ['all keys']],
  ])('%s', async ([args = [], purged = [], lines = []]) => {
    const caches = await filled()
    const { code, out, err } = await purge(...args, ...softly)
    const expected = Object.fromEntries(keys.map((key) => [key, purged.includes(key) ? gone : 'fresh']))
    for (const cache of caches) expect(await statesOf(cache)).toEqual(expected)
    const loaded: string[] = []
    for (const key of keys) await caches[0].getOrLoad(key, () => void loaded.push(key))
    await until('all that is stale is refreshed', () => loaded.length >= purged.length)
    expect(loaded.toSorted()).toEqual(purged.toSorted())
    // Each of several things is one value here.
    const reached = lines.length > 1 ? 1 : purged.length
    const many = reached === 1 ? '1 value' : `${reached} values`
    expect(out).toBe(lines.map((line) => `shop ${line}: ${said} ${many}\n`).join(''))
    expect({ code, err }).toEqual({ code: 0, err: '' })
  })
})

test.for([['--key', 'k'], ['--tag', 't'], ['--all']])('%s --soft --within bounds the grace', async (what) => {
  const cache = open({ grace: '1h' })
  await cache.set('k', 'value', { tags: ['t'] })
  expect(await purge(...what, '--within', '1ms')).toMatchObject({ code: 2, err: expect.stringContaining('--soft') })
  expect(await purge(...what, '--soft', '--within', '1ms')).toMatchObject({ code: 0 })
  await until('it is gone', async () => (await cache.peek('k')).state === 'missing')
})

test('a key is purged in all its versions, and without one', async () => {
  const caches = [undefined, '1', '2'].map((version) => open({ version, grace: '1h' }))
  const stateOf = (key: string): Promise<string[]> =>
    Promise.all(caches.map(async (cache) => (await cache.peek(key)).state))
  // A write voids the values of all other versions.
  for (const key of ['k', 'other']) for (const cache of caches) await cache.getOrLoad(key, () => 'value')
  expect(await stateOf('k')).toEqual(['fresh', 'fresh', 'fresh'])
  await purge('--key', 'k', '--soft')
  expect(await stateOf('k')).toEqual(['stale', 'stale', 'stale'])
  await purge('--key', 'k')
  expect(await stateOf('k')).toEqual(['missing', 'missing', 'missing'])
  expect(await stateOf('other')).toEqual(['fresh', 'fresh', 'fresh'])
})

test.for([
  ['--key', 'user:1'],
  ['--tag', 'users'],
  ['--prefix', 'user:'],
])('a load that is under way is not stored after a purge by %s %s', async (args) => {
  const [cache, other] = [open({ prefixes: ':' }), open({ prefixes: ':' })]
  // By another value with the prefix and the tag, the namespace is one that can be purged by them.
  await cache.set('user:2', 'value', { tags: ['users'] })
  const ends: ((value: string) => void)[] = []
  const load = (): Promise<string> => new Promise((resolve) => ends.push(resolve))
  const answer = cache.getOrLoad('user:1', load, { tags: ['users'] })
  await until('it loads', () => ends.length === 1)
  const { code, out } = await purge(...args)
  expect(code).toBe(0)
  expect(out).toMatch(/: voided( 1 value)?\n$/)
  ends[0]?.('before')
  await until('it loads again', () => ends.length === 2)
  ends[1]?.('after')
  expect(await answer).toBe('after')
  expect(await other.peek('user:1')).toMatchObject({ value: 'after' })
})

test('the responses of an address are purged, in all variants', async () => {
  const caching = cacheResponses(open())
  let runs = 0
  const app = createServer((request, response) =>
    caching(request, response, () => {
      response.setHeader('Vary', 'Accept-Language')
      response.end(`${request.headers['accept-language']} ${++runs}`)
    }),
  ).listen(0, '127.0.0.1')
  onTestFinished(() => app.close().closeAllConnections())
  await once(app, 'listening')
  const address = `http://127.0.0.1:${(app.address() as AddressInfo).port}/products/7`
  const get = async (language: string, url = address): Promise<string> =>
    (await fetch(url, { headers: { 'accept-language': language } })).text()
  const getAll = async (): Promise<string[]> => [await get('de'), await get('fr'), await get('de', `${address}?other`)]
  const before = await getAll()
  expect(await getAll()).toEqual(before)
  expect((await purge('--url', address)).out).toBe(`shop url "${address}": voided\n`)
  expect(await getAll()).toEqual(['de 4', 'fr 5', 'de 3'])
})

describe('a purge that reaches nothing says so', () => {
  test('for a namespace that holds nothing, however often', async () => {
    await open().set('k', 'value', { tags: ['t'] })
    const before = await server.client.keys('*')
    for (const json of [[], ['--json']]) {
      expect(await herdless(['purge', server.url, '--namespace', 'shpo', '--tag', 't', '--all', ...json])).toEqual({
        code: 1,
        out: '',
        err: 'herdless: Nothing is stored in namespace shpo. Did you mean --namespace shop?\n',
      })
    }
    expect((await server.client.keys('*')).toSorted()).toEqual(before.toSorted())
  })

  test('for a namespace whose tags outlive its values', async () => {
    await open().invalidateTags(['t'])
    expect(await server.client.keys('*')).toHaveLength(2)
    const { code, err } = await purge('--tag', 't')
    expect({ code, err }).toEqual({ code: 1, err: 'herdless: Nothing is stored in namespace shop\n' })
  })

  test('for prefixes that no value knows, and voids nothing else either, however often', async () => {
    const cache = open()
    await cache.set('user:1', 'value', { tags: ['t'] })
    for (const args of [
      ['--prefix', 'user:'],
      ['--all', '--prefix', 'user:'],
    ]) {
      const { code, out, err } = await purge('--tag', 't', ...args)
      expect(err).toMatch(/^herdless: Expected caches with the option `prefixes`.*namespace shop.*says more\.\n$/)
      expect({ code, out }).toEqual({ code: 2, out: '' })
    }
    expect((await cache.peek('user:1')).state).toBe('fresh')
  })

  test('for each thing of which nothing is known, and tells programs so', async () => {
    await filled()
    const args = ['--key', 'usr:1', '--tag', 'cat', '--prefix', 'user', '--url', 'http://a/b', '--key', 'page:7']
    const { code, out } = await purge(...args)
    expect(out.split('\n')).toEqual([
      'shop key "usr:1": nothing was stored under it',
      'shop key "page:7": voided 1 value',
      'shop url "http://a/b": nothing was stored under it',
      'shop tag "cat": no value has it',
      'shop prefix "user": no value has it; a prefix ends with the separator of the cache',
      '',
    ])
    expect(code).toBe(0)
    const json = await purge('--key', 'user:1:name', '--tag', 'dog', '--all', '--soft', '--json')
    const told = json.out.trimEnd().split('\n')
    expect(told.map((line) => JSON.parse(line) as unknown)).toEqual([
      { namespace: 'shop', by: 'key', name: 'user:1:name', soft: true, dryRun: false, known: true, values: 1 },
      { namespace: 'shop', by: 'tag', name: 'dog', soft: true, dryRun: false, known: false, values: 0 },
      { namespace: 'shop', by: 'all', name: '', soft: true, dryRun: false, known: true, values: 4 },
    ])
    const page = doc('docs/command.md').text.split('\n## ')
    const described = rows(page.find((part) => part.startsWith('herdless purge')) ?? '', 'member')
    expect(Object.keys(JSON.parse(told[0] as string) as object)).toEqual(described.map(([member]) => codeIn(member)))
  })
})

test.for([
  ['voids', [], 'voided', ['missing', 'missing']],
  ['softly expires', ['--soft'], 'expired', ['stale', 'stale']],
  ['only counts', ['--dry-run'], 'would void', ['fresh', 'fresh']],
] as const)('without prefixes, a purge of all %s each value, also of a version', async ([, args, said, states]) => {
  const [cache, versioned] = [open({ grace: '1h' }), open({ grace: '1h', version: '1' })]
  const other = open({ namespace: 'other' })
  await cache.set('user:1', 'value', { tags: ['t'] })
  await versioned.set('user:2', 'value')
  await other.set('user:1', 'value')
  const { code, out, err } = await purge('--all', ...args)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out).toBe(`shop all keys: ${said} 2 values\n`)
  expect([(await cache.peek('user:1')).state, (await versioned.peek('user:2')).state]).toEqual(states)
  expect((await other.peek('user:1')).state).toBe('fresh')
})

describe('where some caches have prefixes and others have none', () => {
  async function mixed(): Promise<[Cache, Cache]> {
    const [without, having] = [open({ grace: '1h', near: {} }), open({ grace: '1h', prefixes: ':' })]
    await without.set('user:1', 'value')
    await without.getOrLoad('user:1', () => 'never')
    await having.set('user:2', 'value')
    return [without, having]
  }

  test.for([
    ['voids', [], 'voided', 'missing'],
    ['softly expires', ['--soft'], 'expired', 'stale'],
    ['counts', ['--dry-run'], 'would void', 'fresh'],
  ] as const)('a purge of all %s the values of both', async ([, args, said, state]) => {
    const caches = await mixed()
    const { code, out } = await purge('--all', ...args)
    expect({ code, out }).toEqual({ code: 0, out: `shop all keys: ${said} 2 values\n` })
    for (const cache of caches) {
      expect(await statesOf(cache, ['user:1', 'user:2'])).toEqual({ 'user:1': state, 'user:2': state })
    }
  })
})

test('a database that the server does not have is refused, and nothing in another one is purged', async () => {
  const caches = await filled()
  const { code, out, err } = await herdless(['purge', `${server.url}/99`, '--namespace', 'shop', '--key', 'page:7'])
  expect(err).toMatch(/^herdless: Nobody could be asked: .*DB index is out of range/)
  expect({ code, out }).toEqual({ code: 2, out: '' })
  for (const cache of caches) expect(await statesOf(cache)).toEqual(all('fresh'))
  expect((await herdless(['explain', `${server.url}/1`, '--namespace', 'shop', 'page:7', '--json'])).code).toBe(0)
})

describe('a dry run', () => {
  test.for([
    [['--key', 'user:1:name'], 1],
    [['--tag', 'page'], 1],
    [['--tag', 'nobody'], 0],
    [['--prefix', 'user:1:'], 2],
    [['--all'], 5],
  ] as const)('of %s counts %i values, and voids none', async ([args, count]) => {
    const caches = await filled()
    const stored = (): Promise<string[]> => server.client.keys('{shop:?*}')
    const before = (await stored()).toSorted()
    const { code, out, err } = await purge(...args, '--dry-run')
    expect(out).toMatch(count === 0 ? /: no value has it\n$/ : new RegExp(`: would void ${count} values?\\n$`))
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect((await purge(...args, '--dry-run', '--soft')).out).toContain(
      count === 0 ? 'no value' : `would expire ${count}`,
    )
    expect((await stored()).toSorted()).toEqual(before)
    for (const cache of caches) expect(await statesOf(cache)).toEqual(all('fresh'))
  })

  test('counts what may still be served, in all versions, however many tags it has', async () => {
    const many = Array.from({ length: 64 }, (_, index) => `${'t'.repeat(500)}${index}`)
    const plain = open({ grace: '1h' })
    await plain.set('one', 1, { tags: many })
    await plain.set('other', 1, { tags: ['void', 'page'] })
    await plain.invalidateTags(['void'])
    for (const version of ['1', '2']) await open({ version }).getOrLoad('versions', () => 'value', { tags: ['page'] })
    await server.client.hset('{shop:hash}', 'field', 'value')
    const args = ['--tag', many[63] as string, '--tag', 'page', '--key', 'versions', '--url', 'http://a/b']
    const { out } = await purge(...args, '--dry-run', '--json')
    const told = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { by: string; values: number })
    expect(told.map(({ by, values: reached }) => [by, reached])).toEqual([
      ['key', 2],
      ['url', null],
      ['tag', 1],
      ['tag', 2],
    ])
  })
})

test('a purge takes the only namespace that there is', async () => {
  await filled()
  expect((await herdless(['purge', server.url, '--tag', 'page'])).out).toBe('shop tag "page": voided 1 value\n')
  await open({ namespace: 'other' }).set('k', 1)
  const { code, err } = await herdless(['purge', server.url, '--tag', 'cart'])
  expect(err).toBe('herdless: Nothing is stored in namespace herdless. Did you mean --namespace other or shop?\n')
  expect(code).toBe(1)
})

test('a purge is carried out although its reader goes away', async () => {
  const caches = await filled()
  const args = ['--namespace', 'shop', ...keys.flatMap((key) => ['--key', key])]
  const child = spawn(process.execPath, [join(await builtPackage(), 'cli/main.js'), 'purge', server.url, ...args])
  child.stdout.destroy()
  let err = ''
  child.stderr.on('data', (bytes: Buffer) => (err += bytes.toString()))
  expect(await once(child, 'close')).toEqual([0, null])
  expect(err).toBe('')
  for (const cache of caches) expect(await statesOf(cache)).toEqual(all('missing'))
})

test('a user with the rights of a cache, who may not SCAN, may purge', async () => {
  const caches = await filled()
  await allow(server, ruleOn('docs/redis.md', 'push'))
  const url = `redis://shop:secret@127.0.0.1:${server.port}`
  const args = ['--tag', 'page', '--key', 'user:1:name', '--prefix', 'user:1:', '--all']
  const { code, out, err } = await herdless(['purge', url, '--namespace', 'shop', ...args])
  expect(out.match(/: voided\n/g)).toHaveLength(4)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(new Set(named(await denied(server)))).toEqual(new Set(['+ping', '+scan']))
  for (const cache of caches) expect(await statesOf(cache)).toEqual(all('missing'))
})

test('a purge is carried out where the search for the namespace ends among too many keys', async () => {
  const many = Array.from({ length: 60_000 }, (_, index) => [`{other:${index}}`, 'value'])
  await server.client.mset(many.flat())
  expect(await purge('--tag', 'page')).toEqual({
    code: 0,
    out: 'shop tag "page": no value has it\n',
    err: 'herdless: None of the first 50000 keys is in namespace shop. Did you mean --namespace other?\n',
  })
})

test('values of a cluster are purged, on whichever node they are', async () => {
  await using cluster = await startCluster({ masters: 3 })
  const caches = await filled(() => cluster.connect())
  const args = ['purge', '--cluster', `redis://127.0.0.1:${cluster.nodes[0]?.port}`, '--namespace']
  const byKey = keys.filter((key) => key !== 'page:7').flatMap((key) => ['--key', key])
  const { code, out } = await herdless([...args, 'shop', '--tag', 'page', ...byKey])
  expect(out.match(/: voided 1 value\n/g)).toHaveLength(keys.length)
  expect(code).toBe(0)
  for (const cache of caches) expect(await statesOf(cache)).toEqual(all('missing'))
  const typo = await herdless([...args, 'shpo', '--all'])
  expect(typo).toMatchObject({ code: 1, err: expect.stringContaining('Did you mean --namespace shop?\n') as string })
})

test('the master of sentinels is purged', async () => {
  await using group = await startSentinel({ replicas: 1, sentinels: 1 })
  const caches = await filled(() => group.connect())
  const urls = group.sentinels.map(({ port }) => `redis://127.0.0.1:${port}`)
  const { out } = await herdless(['purge', '--sentinel', 'herdless', ...urls, '--namespace', 'shop', '--tag', 'page'])
  expect(out).toBe('shop tag "page": voided 1 value\n')
  for (const cache of caches) expect((await cache.peek('page:7')).state).toBe('missing')
})

test.for([
  [[], 'Expected --key, --url, --tag, --prefix or --all'],
  [['--key', ''], 'Expected a key to be a well-formed string'],
  [['--tag', ''], 'Expected a tag to be a well-formed string'],
  [['--prefix', ''], 'Expected --prefix to be some characters; --all is for all keys'],
  [['--url', '/products/7'], 'Expected an address with scheme, host and path to be purged'],
  [['--all', '--namespace', 'a{b'], 'Expected `namespace` to be'],
  [['--tga', 'a'], "Unknown option '--tga' (Did you mean --tag?)"],
  [['--tag'], "Option '--tag <tag>' argument missing"],
  [['--all'], 'Nobody could be asked: The store refuses connections'],
] as const)('%s is refused with 2', async ([args, message]) => {
  const { code, out, err } = await herdless(['purge', 'redis://:geheim@127.0.0.1:1', ...args])
  expect(err).toContain(`herdless: ${message}`)
  expect(err.split('\n')).toHaveLength(2)
  expect(err).not.toContain(':geheim')
  expect({ code, out }).toEqual({ code: 2, out: '' })
})
