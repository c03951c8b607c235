import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { createClient } from 'node-zookeeper-client'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { checkout } from '../../tools/command.mjs'
import { parseDuration } from '../../src/core/time/duration.ts'
import { compressed, encrypted, type EncryptedOptions } from '../../src/codecs/index.ts'
import { planOf } from '../../src/core/options/plan.ts'
import { lockDefaults } from '../../src/core/options/lock-plan.ts'
import { cacheResponses } from '../../src/express/index.ts'
import { responsePlan } from '../../src/http/options/response-options.ts'
import { createCache, jsonCodec, memoryLock, memoryStore } from '../../src/index.ts'
import { postgresLock } from '../../src/postgres/index.ts'
import { redisLock, redisStore, redlock } from '../../src/redis/index.ts'
import { virtualFleet } from '../../src/testing/index.ts'
import { zookeeperLock } from '../../src/zookeeper/index.ts'
import { doc, docs, named, rows } from './markdown.ts'

const options = doc('docs/options.md').text
const errors = doc('docs/errors.md').text
const locks = doc('docs/locks.md').text

/** The names that stand first in the rows of tables with this head. */
function first(text: string, head: string): string[] {
  return rows(text, head).map(([cell]) => named(cell).replace(/\(.*/, ''))
}

/** The part of a page from one heading to the next of the same rank. */
function section(text: string, heading: string): string {
  const [, rest = ''] = text.split(`\n## ${heading}\n`)
  return rest.split('\n## ')[0] ?? ''
}

function source(path: string): string {
  return readFileSync(join(checkout, 'src', path), 'utf8')
}

/** The members of an interface in a source file. */
function members(path: string, name: string): string[] {
  const [, body = ''] = new RegExp(`interface ${name}\\b[^{]*\\{\\n([^]*?)\\n\\}`).exec(source(path)) ?? []
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(<]/gm)].map((match) => match[1] as string)
}

/** The options that a function says it knows when it is given one that it does not. */
async function known(ask: (options: object) => unknown): Promise<string[]> {
  const refused = async (): Promise<unknown> => ask({ 'no such option': 1 })
  const { message } = (await refused().catch((error: unknown) => error)) as Error
  const [, names = ''] = /expected (?:one of )?(.*)$/.exec(message) ?? []
  return names.split(', ')
}

const client = new Redis({ lazyConnect: true })

describe('the options on the page are those that there are', () => {
  test('of createCache', async () => {
    const there = await known((given) => createCache(given))
    expect(there.length).toBeGreaterThan(10)
    expect(first(section(options, 'createCache'), 'option').toSorted()).toEqual(there.toSorted())
  })

  test('of getOrLoad', async () => {
    const cache = createCache()
    const there = await known((given) => cache.getOrLoad('key', () => 1, given))
    const [, forCalls = ''] = section(options, 'createCache').split('Per cache, or for one call')
    const onPage = [...first(forCalls, 'option'), ...first(section(options, 'getOrLoad'), 'option')]
    expect(onPage.toSorted()).toEqual(there.toSorted())
  })

  test('of memoryStore', async () => {
    expect(first(section(options, 'memoryStore'), 'option')).toEqual(await known((given) => memoryStore(given)))
  })

  test('of redisStore', async () => {
    expect(first(section(options, 'redisStore'), 'option')).toEqual(await known((given) => redisStore(client, given)))
  })

  test('of set and close', async () => {
    const cache = createCache()
    expect(await known((given) => cache.set('key', 1, given))).toEqual([
      'ttl',
      'grace',
      'jitter',
      'tags',
      'schema',
      'version',
    ])
    expect(section(options, 'set and invalidate')).toContain(
      '`options` are `ttl`, `grace`, `jitter`, `tags`, `schema` and `version`',
    )
    expect(await known((given) => cache.close(given))).toEqual(['timeout'])
    expect(section(options, 'close')).toContain('`cache.close({ timeout })`')
  })
})

describe('the options of locks on their page are those that there are', () => {
  const parts = section(locks, 'Options').split(/`(?:redisL|postgresL|zookeeperL|redl)ock` has /)
  const [ofAll = '', ofRedis = '', ofPostgres = '', ofZooKeeper = '', ofTheOthers = ''] = parts
  const made = first(ofAll, 'option').filter((name) => name !== 'signal')

  test('of acquire, and of tryAcquire', async () => {
    const lock = memoryLock()
    expect(first(ofAll, 'option')).toEqual(await known((given) => lock.acquire('job', given)))
    const [, hold = ''] = ofAll.split('| option')
    expect(first(`| option${hold}`, 'option')).toEqual(await known((given) => lock.tryAcquire('job', given)))
  })

  test('of redisLock', async () => {
    expect([...made, ...first(ofRedis, 'option')]).toEqual(await known((given) => redisLock(client, given)))
  })

  test('of postgresLock', async () => {
    const pool = new pg.Pool()
    expect([...made, ...first(ofPostgres, 'option')]).toEqual(await known((given) => postgresLock(pool, given)))
  })

  test('of zookeeperLock', async () => {
    const there = await known((given) => zookeeperLock(() => createClient('localhost'), given))
    expect([...made.filter((name) => name !== 'fair'), ...first(ofZooKeeper, 'option')]).toEqual(there)
  })

  test('of redlock and memoryLock', async () => {
    const clients = [1, 2, 3].map(() => new Redis({ lazyConnect: true }))
    const [, ofRedlock, ofMemory] = /^`(\w+)` as well, and `memoryLock` has `(\w+)`/.exec(ofTheOthers) ?? []
    expect([...made.filter((name) => name !== 'fair'), ofRedlock]).toEqual(
      await known((given) => redlock(clients, given)),
    )
    expect([...made, ofMemory]).toEqual(await known((given) => memoryLock(given)))
  })

  test('with the defaults that hold', () => {
    const given: Record<string, unknown> = { ...lockDefaults, renew: '{ at: 1 / 3 }' }
    const shown = rows(ofAll, 'option').filter(([, cell]) => cell !== '')
    const told = shown.map(([option, cell = '']) => [named(option), named(cell).replaceAll(`'`, '')] as const)
    expect(told.map(([name]) => name)).toEqual(made)
    const wanted = made.map((name) => [name, given[name]])
    expect(
      told.map(([name, text]) => [
        name,
        /^\d/.test(text) ? parseDuration(name, text, { most: Infinity }) : plain(text),
      ]),
    ).toEqual(wanted)
  })

  test('and so are the members of a lease, and the methods of a lock', () => {
    expect(first(section(locks, 'The lease'), 'member')).toEqual(members('core/contract/lock.ts', 'LockLease'))
    const methods = rows(section(locks, 'Usage'), 'method').map(([cell]) => named(cell).replace(/^lock\.|\(.*/g, ''))
    expect(methods).toEqual([...new Set(members('core/contract/lock.ts', 'Lock'))])
  })

  test('and those of the contract suite', () => {
    const page = first(section(locks, 'Custom locks'), 'option')
    expect(page).toEqual(members('testing/lock-contract/lock-contract.ts', 'LockContract'))
  })
})

describe('the options of codecs on their page are those that there are', () => {
  const page = doc('docs/codecs.md').text

  test('of compressed', async () => {
    const there = await known((given) => compressed(jsonCodec(), given))
    expect(first(section(page, 'compressed'), 'option')).toEqual(there)
  })

  test('of encrypted', async () => {
    const there = await known((given) => encrypted(jsonCodec(), given as EncryptedOptions))
    expect(first(section(page, 'encrypted'), 'option')).toEqual(there)
  })
})

function plain(text: string): unknown {
  return text === 'true' ? true : text === 'false' ? false : text
}

describe('what is said of whole responses is what holds', () => {
  const page = doc('docs/responses.md').text

  test('the options', async () => {
    const there = await known((given) => cacheResponses(createCache(), given))
    expect(first(section(page, 'Options'), 'option')).toEqual(there)
  })

  test('their defaults', () => {
    const plan: Record<string, unknown> = { ...responsePlan('cacheResponses', {}) }
    const usual = (name: string): unknown => {
      const value = plan[name]
      return typeof value === 'function' ? (value(undefined) as unknown) : value
    }
    const plain = new Set([
      'undeclared',
      'methods',
      'honorRequestDirectives',
      'cookies',
      'authorization',
      'passFor',
      'maxWaiters',
    ])
    const told = rows(section(page, 'Options'), 'option').filter(([option]) => plain.has(named(option)))
    expect(told).toHaveLength(plain.size)
    for (const [option, cell] of told) {
      const name = named(option)
      const said: unknown = JSON.parse(named(cell).replaceAll("'", '"'))
      expect(name === 'passFor' ? parseDuration(name, said, { most: Infinity }) : said).toEqual(usual(name))
    }
  })

  test('each reason not to store has a row', () => {
    const [, union = ''] = /type Why =([^]*?)\n\n/.exec(source('http/policy/storable.ts')) ?? []
    const reasons = [...union.matchAll(/'([\w-]+)'/g)].map((match) => match[1] as string)
    expect(reasons).toContain('no-store')
    const onPage = new Set(first(section(page, 'Cacheable requests and responses'), '`detail`'))
    expect(reasons.filter((reason) => !onPage.has(reason))).toEqual([])
  })
})

describe('the virtual fleet on its page is the one that there is', () => {
  const page = doc('docs/testing.md').text

  test('its options', async () => {
    expect(first(section(page, 'The fleet'), 'option')).toEqual(await known((given) => virtualFleet(given)))
    const fleet = virtualFleet()
    expect(first(section(page, 'Trouble'), '`trouble`')).toEqual(await known((given) => fleet.trouble(given)))
  })

  test('its members, those of a process and of the store', () => {
    expect(first(section(page, 'The fleet'), 'member')).toEqual(
      members('testing/virtual-fleet/virtual-fleet.ts', 'VirtualFleet'),
    )
    expect(first(section(page, 'A process'), 'member')).toEqual(
      members('testing/virtual-fleet/virtual-process.ts', 'VirtualProcess'),
    )
    expect(first(page, 'method')).toEqual(members('testing/virtual-fleet/virtual-server.ts', 'VirtualServer'))
  })
})

describe('a default on a page is the one that holds', () => {
  const plan: Record<string, unknown> = { ...planOf({}) }
  const page = [...rows(section(options, 'createCache'), 'option'), ...rows(doc('README.md').text, 'option')]
  const simple = page.filter(([option]) => typeof plan[named(option)] !== 'object' && named(option) in plan)

  test.for(simple)('%s', ([option, shown]) => {
    const name = named(option)
    const text = named(shown).replaceAll(`'`, '')
    const wanted = plan[name]
    const inUnits = /^\d+(ms|s|m|h|d)$/.test(text) ? parseDuration(name, text, { most: Infinity }) : Number(text)
    expect(typeof wanted === 'number' ? inUnits : plain(text)).toBe(wanted)
  })
})

test('each code has a row, and no other code has one', () => {
  const [, union = ''] = /type CacheErrorCode =([^]*?)\n\n/.exec(source('core/errors.ts')) ?? []
  const codes = [...union.matchAll(/'(\w+)'/g)].map((match) => match[1] as string)
  expect(codes).toContain('LOAD_FAILED')
  expect(first(section(errors, 'Codes'), 'code').toSorted()).toEqual(codes.toSorted())
})

test('each reason of an unavailable store has a row, and no other reason has one', () => {
  const [, union = ''] = /type UnavailableReason =([^]*?)\n\n/.exec(source('core/errors.ts')) ?? []
  const reasons = [...union.matchAll(/'(\w+)'/g)].map((match) => match[1] as string)
  expect(reasons).toContain('refused')
  expect(first(section(errors, 'Why a store is unavailable'), 'reason')).toEqual(reasons)
})

test('each warning has a row, and no other warning has one', () => {
  const [, union = ''] = /type WarningCode =([^]*?)\n\n/.exec(source('warnings.ts')) ?? []
  const codes = [...union.matchAll(/'(\w+)'/g)].map((match) => match[1] as string)
  expect(codes).toContain('HERDLESS_TTL')
  const page = rows(doc('docs/warnings.md').text, 'code')
  expect(page.map(([code]) => named(code))).toEqual([...codes, 'HERDLESS_THROWN'])
  const silenced = page.flatMap(([, , events = '']) => [...events.matchAll(/`(\w+)`/g)].map((match) => match[1]))
  expect(new Set(silenced)).toEqual(new Set(['storeFailure', 'degraded', 'push', 'lost']))
})

test('each event has a row with what comes with it, and no other event has one', () => {
  const [, body = ''] = /interface CacheEvents \{\n([^]*?)\n\}/.exec(source('core/observe/events.ts')) ?? []
  const events = [...body.matchAll(/^ {2}(\w+): \{ (.*) \}$/gm)].map(([, name, fields = '']) => {
    return [name, ...[...fields.matchAll(/(\w+):/g)].map((match) => match[1])]
  })
  expect(events.length).toBeGreaterThan(10)
  const onPage = rows(section(options, 'Events'), 'event').map(([name, fields = '']) => {
    return [named(name), ...[...fields.matchAll(/`(\w+)`/g)].map((match) => match[1])]
  })
  expect(onPage).toEqual(events)
})

test(`each member of the loader's context has a row`, () => {
  expect(first(section(options, 'The loader'), 'member')).toEqual(members('core/load/loader.ts', 'LoadContext'))
})

test('each method of a cache has its name on the page', () => {
  const methods = members('core/cache/cache.ts', 'Cache')
  expect(methods).toContain('getOrLoad')
  expect(methods.filter((method) => !options.includes(`cache.${method}(`))).toEqual([])
})

test('each state of peek has a row', () => {
  const [, type = ''] = /type Peeked<T> =([^]*?)\n\n/.exec(source('core/cache/cache.ts')) ?? []
  const states = [...type.matchAll(/'(\w+)'/g)].map((match) => match[1])
  expect(first(section(options, 'peek'), '`state`').map((state) => state.replaceAll(`'`, ''))).toEqual(states)
})

test('the contract of a store has as many methods as the page says', () => {
  const all = members('core/contract/store.ts', 'Store')
  const [properties, methods] = [all.slice(0, 5), all.slice(5)]
  expect(properties).toEqual(['sharded', 'connected', 'clock', 'inspection', 'near'])
  expect(methods).toHaveLength(16)
  expect(section(options, 'Custom stores')).toContain(
    'five properties, of which only `sharded` is required, and sixteen methods',
  )
})

test.for([
  ['core/cache/explain.ts', 'Explanation', 'explain'],
  ['core/cache/explain.ts', 'HeldLease', 'Loads under way'],
] as const)('each member that %s tells has a row', ([path, type, heading]) => {
  expect(first(section(doc('docs/explain.md').text, heading), 'member')).toEqual(members(path, type))
})

test('each member of a trace has a row', () => {
  const there = first(section(doc('docs/tracing.md').text, 'Custom tracers'), 'member')
  expect(there).toEqual(members('core/observe/tracing.ts', 'Trace'))
})

test('each option of the contract suite has a row', () => {
  expect(first(section(options, 'Custom stores'), 'option')).toEqual(
    members('testing/store-contract/store-contract.ts', 'StoreContract'),
  )
})

test.for([
  'index.ts',
  'codecs/index.ts',
  'express/index.ts',
  'fastify/index.ts',
  'hono/index.ts',
  'koa/index.ts',
  'otel/index.ts',
  'redis/index.ts',
  'postgres/index.ts',
  'prometheus/index.ts',
  'zookeeper/index.ts',
  'testing/index.ts',
])('each export of src/%s is named in the documents', (path) => {
  const names = exportsOf(path)
  expect(names).not.toEqual([])
  // The reference names them all, and explains none.
  const pages = docs()
    .filter(({ path }) => path !== 'docs/api.md')
    .map(({ text }) => text)
    .join('\n')
  expect(names.filter((name) => !pages.includes(`\`${name}\``))).toEqual([])
})

function exportsOf(path: string): string[] {
  const text = source(path)
  const lists = [...text.matchAll(/export (?:type )?\{([^}]*)\}/g)].flatMap((match) => (match[1] as string).split(','))
  const listed = lists
    .map((name) =>
      name
        .replace(/\btype\b/, '')
        .replace(/.*\bas\b/, '')
        .trim(),
    )
    .filter((name) => name !== '')
  const declared = [...text.matchAll(/^export (?:async )?(?:function|const|class|interface|type) (\w+)/gm)].map(
    (match) => match[1] as string,
  )
  return [...listed, ...declared]
}
