import { inspect } from 'node:util'
import { Redis } from 'ioredis'
import { describe, expect, test, vi } from 'vitest'
import { until } from '../../tools/until.mjs'
import { createCache, type Cache, type CacheEvents } from '../../src/index.ts'
import { redisStore } from '../../src/redis/index.ts'
import { startRedis, type RedisServer } from '../support/servers.ts'

const password = 'hunter2-the-password'
const value = 'hunter2-the-value'

const events: readonly (keyof CacheEvents)[] = [
  'failure',
  'garbage',
  'storeFailure',
  'degraded',
  'recovered',
  'lost',
  'refused',
]

/** Everything that can be found out from something by printing it. */
function printed(told: unknown): string {
  const { stack = '', message = '' } = (told ?? {}) as Partial<Error>
  return [inspect(told, { depth: Infinity, showHidden: true, maxStringLength: null }), stack, message].join('\n')
}

/** What is said by a cache, through this process's console, and as a warning, from now on until it is disposed of. */
class Eavesdropper implements Disposable {
  readonly heard: unknown[] = []
  readonly #note = (warning: unknown): void => void this.heard.push(warning)
  readonly #spies = (['log', 'info', 'warn', 'error', 'debug'] as const).map((name) =>
    vi.spyOn(console, name).mockImplementation((...said: unknown[]) => void this.heard.push(...said)),
  )

  constructor() {
    process.on('warning', this.#note)
  }

  on(cache: Cache): Cache {
    for (const name of events) cache.on(name, (event) => this.heard.push(event))
    return cache
  }

  /** Does everything with a cache that can fail; resolves when it has. */
  async provoke(cache: Cache): Promise<number> {
    const before = this.heard.length
    const options = { waitTimeout: '2m' } as const
    const all = await Promise.allSettled([
      cache.getOrLoad('a', () => value, options),
      cache.getOrLoad('b', () => Promise.reject(new Error('down')), options),
      cache.set('c', value),
      cache.set('d', { token: value.repeat(500) }),
      cache.invalidate('e'),
      cache.peek('f'),
    ])
    for (const result of all) if (result.status === 'rejected') this.heard.push(result.reason)
    return this.heard.length - before
  }

  [Symbol.dispose](): void {
    process.off('warning', this.#note)
    for (const spy of this.#spies) spy.mockRestore()
  }
}

/** A server on which something is wrong, and how a client gets there. */
interface Trouble {
  readonly args?: string[]
  readonly make?: (server: RedisServer) => Promise<unknown>
  readonly url?: (server: RedisServer) => string
  /** What the errors do say. */
  readonly says: RegExp
  /** Nothing is answered there, so that waiting for it is in vain. */
  readonly silent?: true
}

const troubles: Record<string, Trouble> = {
  'does not know the password': {
    make: ({ client }) => client.config('SET', 'requirepass', 'another'),
    url: ({ port }) => `redis://:${password}@127.0.0.1:${port}`,
    says: /WRONGPASS|did not answer|NOAUTH/,
    silent: true,
  },
  'does not know the user': {
    url: ({ port }) => `redis://somebody:${password}@127.0.0.1:${port}`,
    says: /WRONGPASS|did not answer/,
    silent: true,
  },
  'cannot be reached': {
    make: (server) => server.kill(),
    url: ({ port }) => `redis://:${password}@127.0.0.1:${port}`,
    says: /ECONNREFUSED|max retries|did not answer/,
    silent: true,
  },
  'is frozen': {
    make: (server) => server.freeze(),
    says: /did not answer/,
    silent: true,
  },
  'is out of memory': {
    args: ['--maxmemory-policy', 'noeviction'],
    make: ({ client }) => client.config('SET', 'maxmemory', '1'),
    says: /OOM/,
  },
  'does not know the command': {
    args: ['--rename-command', 'EVALSHA', ''],
    says: /unknown command/,
  },
  'knows neither that command nor its scripts': {
    args: ['--rename-command', 'EVAL', ''],
    make: ({ client }) => client.acl('SETUSER', 'default', '-script|load'),
    says: /unknown command/,
  },
  'is read-only': {
    make: ({ client }) => client.replicaof('127.0.0.1', 1),
    says: /READONLY/,
  },
  'permits no scripts': {
    make: ({ client }) => client.acl('SETUSER', 'app', 'on', `>${password}`, '~*', '&*', '+@all', '-evalsha', '-eval'),
    url: ({ port }) => `redis://app:${password}@127.0.0.1:${port}`,
    says: /NOPERM/,
  },
  'permits no keys': {
    make: ({ client }) => client.acl('SETUSER', 'app', 'on', `>${password}`, '~other:*', '&*', '+@all'),
    url: ({ port }) => `redis://app:${password}@127.0.0.1:${port}`,
    says: /NOPERM/,
  },
}

describe('where a server', () => {
  test.for(Object.entries(troubles))(
    '%s, nothing that is said holds the password or a value',
    async ([, { args = [], make, url, says, silent }]) => {
      await using server = await startRedis({ args })
      await make?.(server)
      using eavesdropper = new Eavesdropper()
      const client = new Redis(url?.(server) ?? server.url, { maxRetriesPerRequest: 1 })
      // The client's own errors are its user's to hear.
      client.on('error', () => {})
      try {
        for (const onStoreFailure of ['throw', 'load'] as const) {
          const commandTimeout = silent ? 300 : '30s'
          const cache = eavesdropper.on(createCache({ store: redisStore(client), onStoreFailure, commandTimeout }))
          expect(await eavesdropper.provoke(cache)).toBeGreaterThan(0)
          await cache.close({ timeout: 0 })
        }
      } finally {
        client.disconnect()
        server.thaw()
      }
      const all = eavesdropper.heard.map(printed)
      expect(all.join('\n')).toMatch(says)
      expect(all.filter((said) => said.includes('hunter2'))).toEqual([])
    },
  )
})

describe('of an error that crosses processes', () => {
  class SourceError extends Error {
    override readonly name = 'SourceError'
    readonly code = 'E_SOURCE'
    readonly request = { headers: { authorization: value }, url: `postgres://user:${password}@db` }
    readonly sql = `select '${value}'`
  }

  test('no secret, stack or text of a query goes through Redis, and all is bounded', async () => {
    await using server = await startRedis()
    const [holder, waiter] = [server.connect(), server.connect()].map((client) =>
      createCache({ store: redisStore(client), commandTimeout: '30s' }),
    ) as [Cache, Cache]
    const messages: Buffer[] = []
    const listener = server.connect()
    listener.on('pmessageBuffer', (_pattern: unknown, _channel: unknown, message: Buffer) => messages.push(message))
    await listener.psubscribe('herdless:inbox:*')
    const long = 'x'.repeat(100_000)
    for (const [key, thrown] of [
      ['k', new SourceError('no')],
      ['long', Object.assign(new SourceError(long), { name: long, code: long, cause: new SourceError(long) })],
    ] as const) {
      let fail!: (error: unknown) => void
      const begun = new Promise<void>((resolve) => void holder.on('load', () => resolve()))
      const waits = new Promise<void>((resolve) => void waiter.on('wait', () => resolve()))
      const here = holder
        .getOrLoad(key, () => new Promise((_, reject) => (fail = reject)))
        .catch((error: unknown) => error)
      await begun
      const there = waiter.getOrLoad(key, () => 1).catch((error: unknown) => error)
      await waits
      messages.length = 0
      fail(thrown)
      expect(await here).toBe(thrown)
      const error = (await there) as Error
      await until('the message is here', () => messages.length > 0)
      const stored = await server.client.hgetallBuffer(`{herdless:${key}}:lease`)
      const said = JSON.parse(String(stored['error'])) as { cause: object }
      expect(Object.keys(said)).toEqual(['code', 'message', 'cause', 'token', 'process', 'at'])
      expect(said.cause).toMatchObject({ properties: { request: { headers: {}, url: 'postgres://db' } } })
      expect(said.cause).not.toHaveProperty('properties.sql')
      const all = [...Object.values(stored), ...messages].map(String)
      for (const text of [...all, printed(error)]) {
        expect(text).not.toMatch(/hunter2|secrets\.test/)
        expect(text.length).toBeLessThan(20_000)
      }
      for (const text of all) expect(text.length).toBeLessThan(10_000)
      const { name, message, code } = error as SourceError
      for (const text of [name, message, code]) expect(text.length).toBeLessThanOrEqual(1_001)
    }
    await Promise.all([holder.close(), waiter.close()])
  })
})
