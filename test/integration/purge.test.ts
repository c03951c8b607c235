import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { cacheResponses } from '../../src/express/index.ts'
import { createCache, type Cache, type CacheOptions, type SetOptions } from '../../src/index.ts'
import { redisStore } from '../../src/redis/index.ts'
import { allow, denied, named, ruleOn } from '../docs/acl.ts'
import { doc, named as codeIn, rows } from '../docs/markdown.ts'
import { builtPackage } from '../support/fleet-build.ts'
import { startCluster, startRedis, startSentinel } from '../support/servers.ts'
import { herdless } from './doctor.ts'

/** What a cache of another process than the command finds. */
async function statesOf(cache: Cache, keys: readonly string[]): Promise<Record<string, string>> {
  return Object.fromEntries(await Promise.all(keys.map(async (key) => [key, (await cache.peek(key)).state])))
}

const values: Record<string, SetOptions> = {
  'user:1:name': {},
  'user:1:cart': { tags: ['cart'] },
  'user:12:name': {},
  'page:7': { tags: ['product:7', 'page'] },
  '^odd': { tags: ['^odd'] },
}

/** A cache with values and near copies of them, and another that reads from Redis alone. */
async function filled(connect: () => Parameters<typeof redisStore>[0], options: CacheOptions = {}): Promise<Cache[]> {
  const all = { namespace: 'shop', prefixes: ':', ttl: '1h', grace: '1h', ...options } as const
  const near = createCache({ store: redisStore(connect()), near: { max: 100 }, ...all })
  for (const [key, of] of Object.entries(values)) {
    await near.set(key, 'value', of)
    await near.getOrLoad(key, () => 'never')
  }
  return [near, createCache({ store: redisStore(connect()), ...all })]
}

describe.for(['hard', 'soft'] as const)('a %s purge holds in every process once it has ended', (how) => {
  const gone = how === 'hard' ? 'missing' : 'stale'
  const said = how === 'hard' ? 'voided' : 'expired'

  test.for([
    [['--key', 'user:1:name'], ['user:1:name'], [`key "user:1:name": ${said}`]],
    [
      ['--key', '^odd', '--key', 'page:7'],
      ['^odd', 'page:7'],
      [`key "^odd": ${said}`, `key "page:7": ${said}`],
    ],
    [['--tag', 'page'], ['page:7'], [`tag "page": ${said}`]],
    [
      ['--tag', '^odd', '--tag', 'cart'],
      ['^odd', 'user:1:cart'],
      [`tag "^odd": ${said}`, `tag "cart": ${said}`],
    ],
    [['--prefix', 'user:1:'], ['user:1:name', 'user:1:cart'], [`prefix "user:1:": ${said}`]],
    [['--all'], Object.keys(values), [`all keys: ${said}`]],
  ] as const)('%s', async ([args, purged, lines]) => {
    await using server = await startRedis()
    const caches = await filled(() => server.connect())
    const softly = how === 'soft' ? ['--soft'] : []
    const { code, out, err } = await herdless(['purge', server.url, '--namespace', 'shop', ...args, ...softly])
    const state = (key: string): string => ((purged as readonly string[]).includes(key) ? gone : 'fresh')
    const expected = Object.fromEntries(Object.keys(values).map((key) => [key, state(key)]))
    for (const cache of caches) expect(await statesOf(cache, Object.keys(values))).toEqual(expected)
    const loaded: string[] = []
    for (const key of Object.keys(values)) await caches[0]?.getOrLoad(key, () => void loaded.push(key))
    await expect.poll(() => loaded.toSorted()).toEqual([...purged].toSorted())
    expect(out).toBe(lines.map((line) => `shop ${line}\n`).join(''))
    expect({ code, err }).toEqual({ code: 0, err: '' })
    await Promise.all(caches.map((cache) => cache.close()))
  })
})

test('a key is purged in all its versions, and without one', async () => {
  await using server = await startRedis()
  const versions = [undefined, '1', '2'] as const
  const caches = versions.map((version) =>
    createCache({ store: redisStore(server.connect()), namespace: 'shop', version, grace: '1h' }),
  )
  const stateOf = (key: string): Promise<string[]> =>
    Promise.all(caches.map(async (cache) => (await cache.peek(key)).state))
  // A write voids the values of all other versions.
  for (const cache of caches) await cache.getOrLoad('k', () => 'value')
  for (const cache of caches) await cache.getOrLoad('other', () => 'value')
  expect(await stateOf('k')).toEqual(['fresh', 'fresh', 'fresh'])
  await herdless(['purge', server.url, '--namespace', 'shop', '--key', 'k', '--soft'])
  expect(await stateOf('k')).toEqual(['stale', 'stale', 'stale'])
  await herdless(['purge', server.url, '--namespace', 'shop', '--key', 'k'])
  expect(await stateOf('k')).toEqual(['missing', 'missing', 'missing'])
  expect(await stateOf('other')).toEqual(['fresh', 'fresh', 'fresh'])
  await Promise.all(caches.map((cache) => cache.close()))
})

test.for([
  ['--key', 'user:1'],
  ['--tag', 'users'],
  ['--prefix', 'user:'],
])('a load that is under way is not stored after a purge by %s %s', async (args) => {
  await using server = await startRedis()
  const options = { namespace: 'shop', prefixes: ':' } as const
  const cache = createCache({ store: redisStore(server.connect()), ...options })
  const other = createCache({ store: redisStore(server.connect()), ...options })
  // By another value with the prefix and the tag, the namespace is one that can be purged by them.
  await cache.set('user:2', 'value', { tags: ['users'] })
  const ends: ((value: string) => void)[] = []
  const loads: number[] = []
  cache.on('load', () => loads.push(1))
  const answer = cache.getOrLoad('user:1', () => new Promise<string>((resolve) => ends.push(resolve)), {
    tags: ['users'],
  })
  await expect.poll(() => ends.length).toBe(1)
  const { code, out } = await herdless(['purge', server.url, '--namespace', 'shop', ...args])
  expect(code).toBe(0)
  expect(out).toMatch(/: voided\n$/)
  ends[0]?.('before')
  await expect.poll(() => ends.length).toBe(2)
  ends[1]?.('after')
  expect(await answer).toBe('after')
  expect(await other.peek('user:1')).toMatchObject({ value: 'after' })
  await Promise.all([cache.close(), other.close()])
})

test('the responses of an address are purged, in all variants', async () => {
  await using server = await startRedis()
  const cache = createCache({ store: redisStore(server.connect()), namespace: 'shop', ttl: '1h' })
  const caching = cacheResponses(cache)
  let runs = 0
  const app = createServer((request, response) =>
    caching(request, response, () => {
      response.setHeader('Vary', 'Accept-Language')
      response.end(`${request.headers['accept-language']} ${++runs}`)
    }),
  ).listen(0, '127.0.0.1')
  await once(app, 'listening')
  const address = `http://127.0.0.1:${(app.address() as AddressInfo).port}/products/7`
  const get = async (language: string, url = address): Promise<string> =>
    (await fetch(url, { headers: { 'accept-language': language } })).text()
  const other = `${address}?other`
  const before = [await get('de'), await get('fr'), await get('de', other)]
  expect([await get('de'), await get('fr'), await get('de', other)]).toEqual(before)
  const { out } = await herdless(['purge', server.url, '--namespace', 'shop', '--url', address])
  expect(out).toBe(`shop url "${address}": voided\n`)
  expect([await get('de'), await get('fr'), await get('de', other)]).toEqual(['de 4', 'fr 5', 'de 3'])
  app.close()
  app.closeAllConnections()
  await cache.close()
})

describe('a purge that reaches nothing says so', () => {
  test('for a namespace that holds nothing, however often', async () => {
    await using server = await startRedis()
    const cache = createCache({ store: redisStore(server.connect()), namespace: 'shop' })
    await cache.set('k', 'value', { tags: ['t'] })
    const before = await server.client.keys('*')
    for (const json of [[], ['--json']]) {
      const args = ['--namespace', 'shpo', '--tag', 't', '--all', ...json]
      expect(await herdless(['purge', server.url, ...args])).toMatchObject({
        code: 1,
        out: '',
        err: 'herdless: Nothing is stored in namespace shpo. There is something in: shop\n',
      })
    }
    expect((await server.client.keys('*')).toSorted()).toEqual(before.toSorted())
    await cache.close()
  })

  test('for a namespace whose tags outlive its values', async () => {
    await using server = await startRedis()
    const cache = createCache({ store: redisStore(server.connect()), namespace: 'shop' })
    await cache.invalidateTags(['t'])
    expect(await server.client.keys('*')).toHaveLength(2)
    const { code, err } = await herdless(['purge', server.url, '--namespace', 'shop', '--tag', 't'])
    expect({ code, err }).toEqual({ code: 1, err: 'herdless: Nothing is stored in namespace shop\n' })
    await cache.close()
  })

  test('for prefixes that no value knows, and voids nothing else either, however often', async () => {
    await using server = await startRedis()
    const cache = createCache({ store: redisStore(server.connect()), namespace: 'shop' })
    await cache.set('user:1', 'value', { tags: ['t'] })
    for (const args of [['--all'], ['--prefix', 'user:'], ['--all']]) {
      const { code, out, err } = await herdless(['purge', server.url, '--namespace', 'shop', '--tag', 't', ...args])
      expect(err).toMatch(/^herdless: Expected caches with the option `prefixes`.*namespace shop.*says more\.\n$/)
      expect({ code, out }).toEqual({ code: 2, out: '' })
    }
    expect((await cache.peek('user:1')).state).toBe('fresh')
    await cache.close()
  })

  test('for each thing of which nothing is known, and tells programs so', async () => {
    await using server = await startRedis()
    const [near, cache] = (await filled(() => server.connect())) as [Cache, Cache]
    const args = ['--key', 'usr:1', '--tag', 'cat', '--prefix', 'user', '--url', 'http://a/b', '--key', 'page:7']
    const { code, out } = await herdless(['purge', server.url, '--namespace', 'shop', ...args])
    expect(out.split('\n')).toEqual([
      'shop key "usr:1": nothing was stored under it',
      'shop key "page:7": voided',
      'shop url "http://a/b": nothing was stored under it',
      'shop tag "cat": no value has it',
      'shop prefix "user": no value has it; a prefix ends with the separator of the cache',
      '',
    ])
    expect(code).toBe(0)
    const json = ['--key', 'user:1:name', '--tag', 'dog', '--all', '--soft', '--json']
    const told = await herdless(['purge', server.url, '--namespace', 'shop', ...json])
    expect(
      told.out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([
      { namespace: 'shop', by: 'key', name: 'user:1:name', soft: true, known: true },
      { namespace: 'shop', by: 'tag', name: 'dog', soft: true, known: false },
      { namespace: 'shop', by: 'all', name: '', soft: true, known: true },
    ])
    const page = doc('docs/command.md').text.split('\n## ')
    const described = rows(page.find((part) => part.startsWith('herdless purge')) ?? '', 'member')
    expect(Object.keys(JSON.parse(told.out.split('\n')[0] ?? '') as object)).toEqual(
      described.map(([member]) => codeIn(member)),
    )
    await Promise.all([near.close(), cache.close()])
  })
})

test('a purge is carried out although its reader goes away', async () => {
  await using server = await startRedis()
  const caches = await filled(() => server.connect())
  const args = ['--namespace', 'shop', ...Object.keys(values).flatMap((key) => ['--key', key])]
  const child = spawn(process.execPath, [join(await builtPackage(), 'cli/main.js'), 'purge', server.url, ...args])
  child.stdout.destroy()
  let err = ''
  child.stderr.on('data', (bytes: Buffer) => (err += bytes.toString()))
  expect(await once(child, 'close')).toEqual([0, null])
  expect(err).toBe('')
  for (const cache of caches) {
    expect(new Set(Object.values(await statesOf(cache, Object.keys(values))))).toEqual(new Set(['missing']))
  }
  await Promise.all(caches.map((cache) => cache.close()))
})

test('a user with the rights of a cache, who may not SCAN, may purge', async () => {
  await using server = await startRedis()
  const caches = await filled(() => server.connect())
  await allow(server, ruleOn('docs/redis.md', 'push'))
  const url = `redis://shop:secret@127.0.0.1:${server.port}`
  const args = ['--tag', 'page', '--key', 'user:1:name', '--prefix', 'user:1:', '--all']
  const { code, out, err } = await herdless(['purge', url, '--namespace', 'shop', ...args])
  expect(out.match(/: voided\n/g)).toHaveLength(4)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(new Set(named(await denied(server)))).toEqual(new Set(['+ping', '+scan']))
  for (const cache of caches) expect((await cache.peek('page:7')).state).toBe('missing')
  await Promise.all(caches.map((cache) => cache.close()))
})

test('a purge is carried out where the search for the namespace ends among too many keys', async () => {
  await using server = await startRedis()
  const many = Array.from({ length: 60_000 }, (_, index) => [`{other:${index}}`, 'value'])
  await server.client.mset(many.flat())
  const args = ['purge', server.url, '--namespace', 'shop', '--tag', 'page']
  expect(await herdless(args)).toMatchObject({
    code: 0,
    out: 'shop tag "page": no value has it\n',
    err: 'herdless: None of the first 50000 keys is in namespace shop. There is something in: other\n',
  })
})

test('values of a cluster are purged, on whichever node they are', async () => {
  await using cluster = await startCluster({ masters: 3 })
  const caches = await filled(() => cluster.connect())
  const url = `redis://127.0.0.1:${cluster.nodes[0]?.port}`
  const keys = Object.keys(values).filter((key) => key !== 'page:7')
  const args = ['--namespace', 'shop', '--tag', 'page', ...keys.flatMap((key) => ['--key', key])]
  const { code, out } = await herdless(['purge', '--cluster', url, ...args])
  expect(out.match(/: voided\n/g)).toHaveLength(Object.keys(values).length)
  expect(code).toBe(0)
  for (const cache of caches)
    expect(new Set(Object.values(await statesOf(cache, Object.keys(values))))).toEqual(new Set(['missing']))
  const typo = await herdless(['purge', '--cluster', url, '--namespace', 'shpo', '--all'])
  expect(typo).toMatchObject({ code: 1, err: expect.stringContaining('There is something in: shop\n') as string })
  await Promise.all(caches.map((cache) => cache.close()))
})

test('the master of sentinels is purged', async () => {
  await using group = await startSentinel({ replicas: 1, sentinels: 1 })
  const caches = await filled(() => group.connect())
  const urls = group.sentinels.map(({ port }) => `redis://127.0.0.1:${port}`)
  const { out } = await herdless(['purge', '--sentinel', 'herdless', ...urls, '--namespace', 'shop', '--tag', 'page'])
  expect(out).toBe('shop tag "page": voided\n')
  for (const cache of caches) expect((await cache.peek('page:7')).state).toBe('missing')
  await Promise.all(caches.map((cache) => cache.close()))
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
  expect(err).not.toContain('geheim')
  expect({ code, out }).toEqual({ code: 2, out: '' })
})
