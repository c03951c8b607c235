/** What docs/production.md says, shown on real servers: its figures, its settings, and what is lost when. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { checkout } from '../../tools/command.mjs'
import { until } from '../../tools/until.mjs'
import { createCache, type Cache, type CacheOptions } from '../../src/index.ts'
import { herdless } from '../../src/cli/program.ts'
import { redisStore } from '../../src/redis/index.ts'
import { doc, named, rows } from '../docs/markdown.ts'
import type { ConnectOptions as Connecting } from '../support/clients.ts'
import { startProxy } from '../support/proxy.ts'
import { startRedis, type RedisServer } from '../support/servers.ts'

const page = doc('docs/production.md')

/** A cache on a client with these settings, and what it has told of; disposed of with its client. */
interface Used extends AsyncDisposable {
  readonly client: Redis
  readonly cache: Cache
  readonly heard: string[]
  readonly unleased: string[]
}

function use(options: Connecting, given: CacheOptions = {}): Used {
  const client = new Redis(options)
  client.on('error', () => {})
  const cache = createCache({ store: redisStore(client), namespace: 'shop', ttl: '1h', ...given })
  const heard: string[] = []
  const unleased: string[] = []
  for (const event of ['degraded', 'recovered', 'storeFailure'] as const) cache.on(event, () => void heard.push(event))
  cache.on('load', ({ key, leased }) => void (leased || unleased.push(key)))
  const end = async (): Promise<void> => {
    await cache.close({ timeout: 0 }).catch(() => undefined)
    client.disconnect()
  }
  return { client, cache, heard, unleased, [Symbol.asyncDispose]: end }
}

function addressOf({ port }: { readonly port: number }): Connecting {
  return { host: '127.0.0.1', port }
}

/** For measurements: that a machine is busy is no reason to give a command up. */
const patient = { commandTimeout: '30s' } as const

describe('the figures for memory', () => {
  test('are those of this server, within what another version may differ by', async () => {
    await using server = await startRedis()
    await using used = use(addressOf(server), patient)
    const shown = rows(page.text, 'payload').map((cells) => cells.map((cell) => Number.parseInt(cell, 10)))
    expect(shown).toHaveLength(4)
    for (const [payload = 0, usage = 0, whole = 0] of shown) {
      await server.client.flushall()
      const used1 = await memoryUsed(server)
      const entries = payload > 5_000 ? 2_048 : 8_192
      await Promise.all(
        Array.from({ length: entries }, (_, n) => used.cache.set(`user:${1e9 + n}`, 'x'.repeat(payload - 2))),
      )
      const measured = Number(await server.client.memory('USAGE', '{shop:user:1000000000}'))
      expect({ payload, usage: measured / usage }).toEqual({ payload, usage: expect.closeTo(1, 0.4) as number })
      const each = ((await memoryUsed(server)) - used1) / entries
      expect(Math.abs(each / whole - 1)).toBeLessThan(0.4)
    }
  })

  test('of a lease are those of this server too', async () => {
    await using server = await startRedis()
    await using used = use(addressOf(server), patient)
    let finish!: (value: unknown) => void
    const loaded = used.cache.getOrLoad('user:1000000000', () => new Promise((resolve) => (finish = resolve)))
    await until('the load runs', () => finish)
    const lease = '{shop:user:1000000000}:lease'
    const alone = Number(await server.client.memory('USAGE', lease))
    const waiters = Array.from({ length: 20 }, () => use(addressOf(server), patient))
    const waiting = waiters.map(({ cache }) => cache.getOrLoad('user:1000000000', () => 1))
    await until(
      'all wait',
      async () => (await server.client.hkeys(lease)).filter((f) => f.startsWith('>')).length === 20,
    )
    const crowded = Number(await server.client.memory('USAGE', lease))
    finish(1)
    await Promise.all([loaded, ...waiting])
    for (const waiter of waiters) await waiter[Symbol.asyncDispose]()
    expect(page.text).toContain('A lease is 200 bytes while a load runs, and about 40 more for each process')
    expect(Math.abs(alone / 200 - 1)).toBeLessThan(0.4)
    expect(Math.abs((crowded - alone) / 20 / 40 - 1)).toBeLessThan(0.4)
  })
})

async function memoryUsed({ client }: RedisServer): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1])
}

describe('what is kept over a crash', () => {
  const kept = async (args: string[]): Promise<string[]> => {
    await using server = await startRedis({ args: ['--dbfilename', 'kept.rdb', ...args] })
    await using used = use(addressOf(server))
    const { cache } = used
    await Promise.all([cache.set('valid', 'old'), cache.set('invalidated', 'old')])
    await server.client.save()
    await cache.invalidate('invalidated')
    await server.restart()
    await until('the server answers again', () => cache.peek('any'))
    const states = await Promise.all([cache.peek('valid'), cache.peek('invalidated')])
    return states.map(({ state }) => state)
  }

  test('is what a snapshot holds, what was invalidated since too', async () => {
    expect(await kept([])).toEqual(['fresh', 'fresh'])
  })

  test('is everything with an append-only file that is synced with every write', async () => {
    expect(await kept(['--appendonly', 'yes', '--appendfsync', 'always'])).toEqual(['fresh', 'missing'])
  })
})

describe('a failover', () => {
  test('loses an invalidation that the replica has not heard of, which WAIT would have told', async () => {
    await using master = await startRedis({ args: ['--repl-diskless-sync-delay', '0'] })
    await using link = await startProxy(master)
    await using replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(link.port)] })
    await until('the replica follows', async () =>
      (await replica.client.info('replication')).includes('link_status:up'),
    )
    await using used = use(addressOf(master))
    await used.cache.set('key', 'old')
    expect(await used.client.wait(1, 10_000)).toBe(1)
    link.blackHole()
    await used.cache.invalidate('key')
    expect(await used.client.wait(1, 50)).toBe(0)
    await replica.client.replicaof('NO', 'ONE')
    await using after = use(addressOf(replica))
    expect(await after.cache.peek('key')).toMatchObject({ state: 'fresh', value: 'old' })
  })

  /** A client behind an address that leads elsewhere from now on, because the server there has become a replica. */
  async function moved(options: Connecting, work: (used: Used, next: RedisServer) => Promise<void>): Promise<void> {
    await using one = await startRedis()
    await using other = await startRedis()
    const target = { port: one.port }
    await using proxy = await startProxy(target)
    await using used = use({ ...addressOf(proxy), ...options })
    await used.cache.set('key', 1)
    await one.client.replicaof('127.0.0.1', other.port)
    target.port = other.port
    await used.cache.getOrLoad('first', () => 1)
    expect(used.unleased).toEqual(['first'])
    await work(used, other)
  }

  test('behind an address that moves leaves a client on the old master', async () => {
    await moved({}, async ({ cache, unleased }) => {
      for (const key of ['second', 'third', 'fourth']) await cache.getOrLoad(key, () => 1)
      expect(unleased).toEqual(['first', 'second', 'third', 'fourth'])
      expect((await cache.peek('key')).state).toBe('fresh')
      await expect(cache.invalidate('key')).rejects.toThrow('READONLY')
    })
  })

  test('behind an address that moves is followed by a client with reconnectOnError', async () => {
    const reconnectOnError = (error: Error): boolean => error.message.startsWith('READONLY')
    await moved({ reconnectOnError }, async ({ cache }, next) => {
      await until('a value reaches the new master', async () => {
        await cache.getOrLoad('next', () => 1)
        return next.client.exists('{shop:next}')
      })
      expect((await cache.peek('key')).state).toBe('missing')
      await cache.invalidate('key')
    })
  })
})

describe('the settings of the client', () => {
  test('have the defaults that the page names', () => {
    const [ofIoredis = ''] = page.text.split('<a id="node-redis"></a>')
    const table = rows(ofIoredis, 'setting').map(([name, shown]) => [named(name), shown] as const)
    expect(table.length).toBeGreaterThan(8)
    // Of all options it is lazyConnect that this client does not have as it is by default.
    const { lazyConnect: _, ...options } = { ...new Redis({ lazyConnect: true }).options }
    const defaults: Record<string, unknown> = { lazyConnect: false, ...options }
    for (const [name, shown] of table.filter(([name]) => typeof defaults[name] !== 'function')) {
      expect({ name, shown: shown?.replaceAll('`', '') }).toEqual({
        name,
        shown: JSON.stringify(defaults[name]) ?? 'none',
      })
    }
    expect([1, 5, 20].map((attempt) => Number(options.retryStrategy?.(attempt)) <= 5_199)).toEqual([true, true, true])
  })

  test('keep what was given up for as long as the page says', () => {
    const { options } = new Redis({ lazyConnect: true })
    const attempts = Array.from({ length: options.maxRetriesPerRequest ?? 0 }, (_, index) => index + 1)
    const seconds = attempts.reduce((sum, attempt) => sum + Number(options.retryStrategy?.(attempt)), 0) / 1_000
    expect(seconds).toBeGreaterThan(60)
    expect(seconds).toBeLessThan(90)
  })

  test('socketTimeout ends a connection that is open at one end only; without it the store stays away', async () => {
    await using server = await startRedis()
    await using proxy = await startProxy(server)
    await using without = use(addressOf(proxy))
    await using with1s = use({ ...addressOf(proxy), socketTimeout: 1_000 })
    for (const { cache } of [without, with1s]) await cache.getOrLoad('key', () => 1)
    proxy.abandon()
    for (const { cache } of [without, with1s]) await cache.getOrLoad('key', () => 2)
    await until('the store is back', () => with1s.heard.includes('recovered'))
    expect(with1s.heard).toEqual(['storeFailure', 'degraded', 'recovered'])
    expect(without.heard).toEqual(['storeFailure', 'degraded'])
    expect(await with1s.cache.peek('key')).toMatchObject({ value: 1 })
    expect(await without.cache.getOrLoad('key', () => 3)).toBe(3)
  })

  test('a commandTimeout of the client hides that the store is away', async () => {
    await using server = await startRedis()
    await using without = use(addressOf(server))
    await using with100ms = use({ ...addressOf(server), commandTimeout: 100 })
    for (const { cache } of [without, with100ms]) await cache.getOrLoad('key', () => 1)
    await server.freeze()
    for (const { cache } of [without, with100ms]) {
      for (let call = 0; call < 3; call++) await cache.getOrLoad('key', () => 2)
    }
    server.thaw()
    expect(without.heard.slice(0, 2)).toEqual(['storeFailure', 'degraded'])
    expect(with100ms.heard).toEqual(['storeFailure', 'storeFailure', 'storeFailure'])
  })

  test.for([
    ['with its offline queue', {}],
    ['without it', { enableOfflineQueue: false }],
    ['without it, and connects late', { enableOfflineQueue: false, lazyConnect: true }],
  ] as const)('%s a process waits for its first connection', async ([, settings]) => {
    await using server = await startRedis()
    await using user = use({ ...addressOf(server), ...settings })
    await user.cache.getOrLoad('key', () => 1)
    expect(user.unleased).toEqual([])
    expect(await server.client.exists('{shop:key}')).toBe(1)
  })

  test('without its offline queue a process of node-redis waits for its first connection, too', async () => {
    await using server = await startRedis()
    const client = createClient({ url: server.url, disableOfflineQueue: true })
    client.on('error', () => {})
    onTestFinished(() => client.destroy())
    const connecting = client.connect()
    const cache = createCache({ store: redisStore(client), namespace: 'shop' })
    onTestFinished(() => cache.close())
    const unleased: string[] = []
    cache.on('load', ({ key, leased }) => void (leased || unleased.push(key)))
    await cache.getOrLoad('key', () => 1)
    await connecting
    expect(unleased).toEqual([])
  })
})

describe('the connections', () => {
  test('of a process are two, or one that polls, for all its caches on a store', async () => {
    await using server = await startRedis()
    const count = async (): Promise<number> =>
      String(await server.client.client('LIST'))
        .trim()
        .split('\n').length - 1
    expect(await count()).toBe(0)
    const clients = [server.connect(), server.connect()]
    const stores = [redisStore(clients[0] as Redis), redisStore(clients[1] as Redis, { wakeUp: 'poll' })]
    const caches = stores.map((store) => [
      createCache({ store, namespace: 'a' }),
      createCache({ store, namespace: 'b' }),
    ])
    await Promise.all(caches.flat().map((cache) => cache.getOrLoad('key', () => 1)))
    await until('there are three', async () => (await count()) === 3)
    await Promise.all(caches.flat().map((cache) => cache.close()))
    await until('that for messages has ended', async () => (await count()) === 2)
  })

  test('that are silent are ended by the timeout of the server, and the next command makes a new one', async () => {
    await using server = await startRedis({ args: ['--timeout', '1'] })
    await using used = use(addressOf(server))
    await used.cache.getOrLoad('key', () => 1)
    const closed = new Promise((resolve) => used.client.once('close', resolve))
    await closed
    expect(await used.cache.getOrLoad('key', () => 2)).toBe(1)
    expect(used.heard).toEqual([])
  })

  test('carry as many commands as the page says', async () => {
    await using server = await startRedis()
    await using used = use(addressOf(server))
    await using other = use(addressOf(server))
    const { cache } = used
    // The scripts are known, and the clock.
    for (const one of [cache, other.cache]) await one.getOrLoad('warm', () => 1)
    await cache.invalidate('warm')
    const counted = async (work: () => Promise<unknown>): Promise<number> => {
      await server.resetCounts()
      await work()
      // Once a second each process makes sure of its subscription.
      const { subscribe: _, echo: __, time: ___, ...counts } = await server.commandCounts()
      return Object.values(counts).reduce((sum, count) => sum + count, 0)
    }
    const elsewhere = async (key: string, length: number): Promise<number> => {
      let finish!: (value: string) => void
      const loaded = other.cache.getOrLoad(key, () => new Promise((resolve) => (finish = resolve)))
      await until('the load runs', () => finish)
      return await counted(async () => {
        const waited = new Promise((resolve) => cache.on('wait', resolve))
        const value = cache.getOrLoad(key, () => 'never')
        await waited
        finish('x'.repeat(length))
        await Promise.all([value, loaded])
      })
    }
    const fill = 1
    const measured = {
      'a miss, loaded here': await counted(() => cache.getOrLoad('key', () => 1)),
      'a hit': await counted(() => cache.getOrLoad('key', () => 2)),
      'a miss, loaded elsewhere': [(await elsewhere('short', 10)) - fill, (await elsewhere('long', 10_000)) - fill],
      '`set`, `invalidate`': await counted(() => cache.set('key', 3)),
    }
    const shown = rows(page.text, 'operation').map(([what, commands = '']) => {
      const numbers = (commands.match(/\d+(?! KiB)/g) ?? []).map(Number)
      return [what, numbers.length === 1 ? numbers[0] : numbers]
    })
    expect(Object.fromEntries(shown)).toEqual(measured)
    expect(await counted(() => cache.invalidate('key'))).toBe(measured['`set`, `invalidate`'])
  })
})

describe('the names on the page', () => {
  const sources = readdirSync(join(checkout, 'src/cli'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join(checkout, 'src/cli', name), 'utf8'))
    .join('\n')

  test('are those of the options of the doctor', () => {
    const doctor = herdless().commands.find((command) => command.name() === 'doctor')
    const table = rows(page.text, 'option').map(([option]) => named(option))
    expect(new Set(table)).toEqual(new Set([...(doctor?.options ?? []).map(({ flags }) => flags), '--help']))
  })

  test('are those of the checks of the doctor', () => {
    const checks = [...sources.matchAll(/\babout\('([^']+)'/g)].map(([, check]) => check)
    const table = rows(page.text, 'check').map(([check]) => named(check))
    expect(checks.length).toBeGreaterThan(10)
    expect(new Set(table)).toEqual(new Set(checks))
  })

  test('are there where a finding sends its reader', () => {
    const pages = [...sources.matchAll(/'(docs\/[\w-]+\.md)#([\w-]+)'/g)]
    expect(pages.length).toBeGreaterThan(10)
    for (const [, path = '', anchor] of pages) expect(doc(path).anchors).toContain(anchor)
  })

  test('are those of events, and of fields of INFO', async () => {
    const events = rows(doc('docs/options.md').text, 'event').map(([event]) => named(event))
    const alerts = rows(page.text, 'event').flatMap(([cell = '']) => cell.replace(/ with .*/, '').match(/\w+/g) ?? [])
    expect(alerts.filter((event) => !events.includes(event))).toEqual([])
    await using server = await startRedis()
    const info = await server.client.info()
    const fields = rows(page.text, 'field').flatMap(([cell = '']) => cell.match(/\w+_\w+/g) ?? ['maxclients'])
    expect(fields.length).toBeGreaterThan(8)
    expect(fields.filter((field) => !info.includes(`\n${field}:`))).toEqual([])
  })
})
