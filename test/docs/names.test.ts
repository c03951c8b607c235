import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { createClient } from 'node-zookeeper-client'
import pg from 'pg'
import prometheus from 'prom-client'
import { describe, expect, test } from 'vitest'
import { checkout } from '../../tools/command.mjs'
import { parseDuration } from '../../src/core/time/duration.ts'
import { compressed, encrypted, type EncryptedOptions } from '../../src/codecs/index.ts'
import { planOf } from '../../src/core/options/plan.ts'
import { lockDefaults } from '../../src/core/options/lock-plan.ts'
import { cacheResponses } from '../../src/express/index.ts'
import { responsePlan } from '../../src/http/options/response-options.ts'
import { createCache, jsonCodec, memoryLock, memoryStore } from '../../src/index.ts'
import { instrument } from '../../src/otel/index.ts'
import { postgresLock } from '../../src/postgres/index.ts'
import { collectMetrics } from '../../src/prometheus/index.ts'
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

/** The options that have a heading of their own, and the default of each; '' for none. */
function headed(text: string): [name: string, shown: string][] {
  const options = text.matchAll(/^####? `(\w+)`\n\nDefault: (?:`([^`]*)`|none|that of the store)\. /gm)
  return [...options].map(([, name = '', shown = '']) => [name, shown])
}

function names(text: string): string[] {
  return headed(text).map(([name]) => name)
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

/** The words of a union in a source file. */
function union(path: string, name: string): string[] {
  const [, body = ''] = new RegExp(`type ${name} =([^]*?)\\n\\n`).exec(source(path)) ?? []
  return [...body.matchAll(/'([\w-]+)'/g)].map((match) => match[1] as string)
}

/** The tables of options of the locks: of all, of redisLock, postgresLock and zookeeperLock, and the words on the others. */
const lockTables = section(locks, 'Options').split(/`(?:redisL|postgresL|zookeeperL|redl)ock` has /)
const ofEachLock = first(lockTables[0] ?? '', 'option').filter((name) => name !== 'signal')

const client = new Redis({ lazyConnect: true })

describe('the options on a page are those that there are', () => {
  const [ofAll = '', ofRedis = '', ofPostgres = '', ofZooKeeper = '', ofTheOthers = ''] = lockTables
  const [, forCalls = ''] = section(options, 'createCache').split('\n### Per cache or call\n')
  const [, hold = ''] = ofAll.split('| option')
  const [, ofRedlock = '', ofMemory = ''] = /^`(\w+)` as well, and `memoryLock` has `(\w+)`/.exec(ofTheOthers) ?? []
  const unfair = ofEachLock.filter((name) => name !== 'fair')
  const clients = [1, 2, 3].map(() => new Redis({ lazyConnect: true }))
  const codecs = doc('docs/codecs.md').text
  const [responses, fleet] = [doc('docs/responses.md').text, doc('docs/testing.md').text]

  test.for<[of: string, onPage: string[], ask: (given: object) => unknown]>([
    ['acquire', first(ofAll, 'option'), (given) => memoryLock().acquire('job', given)],
    ['tryAcquire', first(`| option${hold}`, 'option'), (given) => memoryLock().tryAcquire('job', given)],
    ['redisLock', [...ofEachLock, ...first(ofRedis, 'option')], (given) => redisLock(client, given)],
    ['postgresLock', [...ofEachLock, ...first(ofPostgres, 'option')], (given) => postgresLock(new pg.Pool(), given)],
    [
      'zookeeperLock',
      [...unfair, ...first(ofZooKeeper, 'option')],
      (given) => zookeeperLock(() => createClient('localhost'), given),
    ],
    ['redlock', [...unfair, ofRedlock], (given) => redlock(clients, given)],
    ['memoryLock', [...ofEachLock, ofMemory], (given) => memoryLock(given)],
    ['memoryStore', first(section(options, 'memoryStore'), 'option'), (given) => memoryStore(given)],
    ['redisStore', first(section(options, 'redisStore'), 'option'), (given) => redisStore(client, given)],
    ['compressed', first(section(codecs, 'compressed'), 'option'), (given) => compressed(jsonCodec(), given)],
    [
      'encrypted',
      first(section(codecs, 'encrypted'), 'option'),
      (given) => encrypted(jsonCodec(), given as EncryptedOptions),
    ],
    ['cacheResponses', first(section(responses, 'Options'), 'option'), (given) => cacheResponses(createCache(), given)],
    [
      'collectMetrics',
      first(doc('docs/metrics.md').text, 'option'),
      (given) => collectMetrics(createCache(), { client: prometheus, ...given }),
    ],
    ['instrument', first(doc('docs/tracing.md').text, 'option'), (given) => instrument(createCache(), given)],
    ['virtualFleet', first(section(fleet, 'The fleet'), 'option'), (given) => virtualFleet(given)],
    ['trouble', first(section(fleet, 'Trouble'), '`trouble`'), (given) => virtualFleet().trouble(given)],
  ])('of %s', async ([, onPage, ask]) => {
    expect(onPage).toEqual(await known(ask))
  })

  // The page has an order of its own.
  test.for<[of: string, onPage: string[], ask: (given: object) => unknown]>([
    ['createCache', names(section(options, 'createCache')), (given) => createCache(given)],
    [
      'getOrLoad',
      [...names(forCalls), ...names(section(options, 'getOrLoad'))],
      (given) => createCache().getOrLoad('key', () => 1, given),
    ],
  ])('of %s', async ([, onPage, ask]) => {
    expect(onPage.toSorted()).toEqual((await known(ask)).toSorted())
  })

  test('of set and close', async () => {
    const ofSet = ['ttl', 'grace', 'jitter', 'tags', 'schema', 'version']
    expect(await known((given) => createCache().set('key', 1, given))).toEqual(ofSet)
    expect(section(options, 'set and invalidate')).toContain(
      '`options` are `ttl`, `grace`, `jitter`, `tags`, `schema` and `version`',
    )
    expect(await known((given) => createCache().close(given))).toEqual(['timeout'])
    expect(section(options, 'close')).toContain('`cache.close({ timeout })`')
  })
})

describe('a default on a page is the one that holds', () => {
  test('of locks', () => {
    const given: Record<string, unknown> = { ...lockDefaults, renew: '{ at: 1 / 3 }' }
    const shown = rows(lockTables[0] ?? '', 'option').filter(([, cell]) => cell !== '')
    const told = shown.map(([option, cell = '']) => [named(option), valueOf(named(option), named(cell))])
    expect(told).toEqual(ofEachLock.map((name) => [name, given[name]]))
  })

  test('of responses', () => {
    const plan: Record<string, unknown> = { ...responsePlan('cacheResponses', {}) }
    const simple = [
      'undeclared',
      'methods',
      'honorRequestDirectives',
      'cookies',
      'authorization',
      'passFor',
      'maxWaiters',
    ]
    const told = rows(section(doc('docs/responses.md').text, 'Options'), 'option')
      .map(([option, cell]) => [named(option), named(cell)] as const)
      .filter(([name]) => simple.includes(name))
    expect(told).toHaveLength(simple.length)
    for (const [name, text] of told) {
      const value = plan[name]
      const said: unknown = JSON.parse(text.replaceAll("'", '"'))
      expect(name === 'passFor' ? parseDuration(name, said, { most: Infinity }) : said).toEqual(
        typeof value === 'function' ? value(undefined) : value,
      )
    }
  })

  const plan: Record<string, unknown> = { ...planOf({}) }
  const simple = headed(section(options, 'createCache')).filter(
    ([name]) => typeof plan[name] !== 'object' && name in plan,
  )

  test('most options of caches have one', () => {
    expect(simple.length).toBeGreaterThan(15)
  })

  test.for(simple)('%s', ([name, shown]) => {
    expect(valueOf(name, shown)).toBe(plan[name])
  })
})

/** What the text of a default stands for: a duration is in milliseconds. */
function valueOf(name: string, text: string): unknown {
  const plain = text.replaceAll("'", '')
  if (/^\d+(ms|s|m|h|d)$/.test(plain)) return parseDuration(name, plain, { most: Infinity })
  if (/^\d/.test(plain)) return Number(plain)
  return plain === 'true' ? true : plain === 'false' ? false : plain
}

describe('the members on a page are those that there are', () => {
  const [fleet, explain] = [doc('docs/testing.md').text, doc('docs/explain.md').text]
  const ofLock = rows(section(locks, 'Usage'), 'method').map(([cell]) => named(cell).replace(/^lock\.|\(.*/g, ''))

  test.for<[of: string, onPage: string[], path: string]>([
    ['Lock', ofLock, 'core/contract/lock.ts'],
    ['LockLease', first(section(locks, 'The lease'), 'member'), 'core/contract/lock.ts'],
    ['LockContract', first(section(locks, 'Custom locks'), 'option'), 'testing/lock-contract/lock-contract.ts'],
    ['StoreContract', first(section(options, 'Custom stores'), 'option'), 'testing/store-contract/store-contract.ts'],
    ['VirtualFleet', first(section(fleet, 'The fleet'), 'member'), 'testing/virtual-fleet/virtual-fleet.ts'],
    ['VirtualProcess', first(section(fleet, 'A process'), 'member'), 'testing/virtual-fleet/virtual-process.ts'],
    ['VirtualServer', first(fleet, 'method'), 'testing/virtual-fleet/virtual-server.ts'],
    ['LoadContext', first(section(options, 'The loader'), 'member'), 'core/flight/loader.ts'],
    ['Explanation', first(section(explain, 'explain'), 'member'), 'core/cache/explain.ts'],
    ['HeldLease', first(section(explain, 'Loads under way'), 'member'), 'core/cache/explain.ts'],
    ['Trace', first(section(doc('docs/tracing.md').text, 'Custom tracers'), 'member'), 'core/observe/tracing.ts'],
  ])('of %s', ([name, onPage, path]) => {
    expect(onPage).not.toEqual([])
    expect(onPage).toEqual([...new Set(members(path, name))])
  })

  test('of Cache, each by its name', () => {
    const [property, ...methods] = members('core/cache/cache.ts', 'Cache')
    expect(methods).toContain('getOrLoad')
    expect(methods.filter((method) => !options.includes(`cache.${method}(`))).toEqual([])
    expect(options).toContain(`cache.${property} =`)
  })

  test('of Store, as many as the page says', () => {
    const all = members('core/contract/store.ts', 'Store')
    expect(all.slice(0, 6)).toEqual(['sharded', 'connected', 'clock', 'permits', 'inspection', 'near'])
    expect(all.slice(6)).toHaveLength(19)
    expect(section(options, 'Custom stores')).toContain(
      'six properties, of which only `sharded` is required, and nineteen methods',
    )
  })
})

describe('each has a row, and no other has one:', () => {
  test.for<[what: string, onPage: string[], there: string[], one: string]>([
    [
      'codes of errors',
      first(section(errors, 'Codes'), 'code'),
      union('core/errors.ts', 'CacheErrorCode'),
      'LOAD_FAILED',
    ],
    [
      'reasons of an unavailable store',
      first(section(errors, 'Why a store is unavailable'), 'reason'),
      union('core/errors.ts', 'UnavailableReason'),
      'refused',
    ],
    [
      'states of peek',
      first(section(options, 'peek'), '`state`').map((state) => state.replaceAll("'", '')),
      union('core/cache/cache.ts', 'Peeked<T>'),
      'fresh',
    ],
    [
      'warnings',
      first(doc('docs/warnings.md').text, 'code'),
      [...union('warnings.ts', 'WarningCode'), 'HERDLESS_THROWN'],
      'HERDLESS_TTL',
    ],
  ])('%s', ([, onPage, there, one]) => {
    expect(there).toContain(one)
    expect(onPage.toSorted()).toEqual(there.toSorted())
  })

  test('events, with what comes with them', () => {
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
})

test('the warnings name the events that silence them', () => {
  const page = rows(doc('docs/warnings.md').text, 'code')
  const silenced = page.flatMap(([, , events = '']) => [...events.matchAll(/`(\w+)`/g)].map((match) => match[1]))
  expect(new Set(silenced)).toEqual(new Set(['unstorable', 'storeFailure', 'degraded', 'push', 'lost']))
})

test('each reason not to store has a row', () => {
  const reasons = union('http/policy/storable.ts', 'Why')
  expect(reasons).toContain('no-store')
  const page = section(doc('docs/responses.md').text, 'Cacheable requests and responses')
  const onPage = new Set(first(page, '`detail`'))
  expect(reasons.filter((reason) => !onPage.has(reason))).toEqual([])
})

test.for([
  'index.ts',
  'codecs/index.ts',
  'express/index.ts',
  'fastify/index.ts',
  'fetch/index.ts',
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
