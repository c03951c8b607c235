import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CacheEvents } from '../../src/index.ts'
import { builtPackage } from '../support/fleet-build.ts'
import { startRedis, type RedisServer } from '../support/servers.ts'
import type { Scene } from '../support/warned-process.mjs'

const program = fileURLToPath(new URL('../support/warned-process.mjs', import.meta.url))

/** What a process was warned of: each code, as often as it was printed, and the whole text. */
interface Warned {
  readonly codes: string[]
  readonly text: string
}

async function warned(scene: Scene, env: NodeJS.ProcessEnv = {}): Promise<Warned> {
  const { NODE_ENV: _, NODE_NO_WARNINGS: __, ...others } = process.env
  const args = [program, await builtPackage(), JSON.stringify(scene)]
  const { stderr } = await promisify(execFile)(process.execPath, args, { env: { ...others, ...env }, timeout: 30_000 })
  const codes = [...stderr.matchAll(/\[(HERDLESS_\w+)\]/g)].map(([, code]) => code as string)
  return { codes, text: stderr }
}

/** Longer than push may be away before a process is warned. */
const longer = 6_500

/** The states of which a process is warned by an event: what it says, and which events say it too. */
const states: readonly {
  readonly state: string
  readonly code: string
  readonly says: RegExp
  readonly events: readonly (keyof CacheEvents)[]
  readonly scene: (server: RedisServer) => Scene
}[] = [
  {
    state: 'whose Redis is not there',
    code: 'HERDLESS_STORE_UNAVAILABLE',
    says: /The store refuses connections, and did not answer .* ECONNREFUSED .*\. Callers load without the store/,
    events: ['storeFailure', 'degraded'],
    scene: () => ({ redis: { port: 1 }, options: { commandTimeout: 100 } }),
  },
  {
    state: 'with a wrong password',
    code: 'HERDLESS_STORE_PASSWORD',
    says: /The store refuses the user or the password: WRONGPASS/,
    events: ['storeFailure', 'degraded'],
    scene: ({ port }) => ({ redis: { port, username: 'limited', password: 'geraten' } }),
  },
  {
    state: 'without the right to scripts',
    code: 'HERDLESS_STORE_RIGHTS',
    says: /The store forbids a command: NOPERM .*evalsha/,
    events: ['storeFailure', 'degraded'],
    scene: ({ port }) => ({ redis: { port, username: 'limited', password: 'secret' } }),
  },
  {
    state: 'on a replica',
    code: 'HERDLESS_STORE_READ_ONLY',
    says: /The store is read-only: READONLY/,
    events: ['storeFailure', 'degraded'],
    scene: () => ({ redis: { port: replica.port } }),
  },
  {
    state: 'on a full server',
    code: 'HERDLESS_STORE_FULL',
    says: /The store is full: OOM/,
    events: ['storeFailure', 'degraded'],
    scene: () => ({ redis: { port: full.port } }),
  },
  {
    state: 'without the right to a channel',
    code: 'HERDLESS_PUSH_LOST',
    says: /Outcomes are not pushed to this process/,
    events: ['push'],
    scene: ({ port }) => ({ redis: { port, username: 'mute', password: 'secret' }, does: 'waits', for: longer }),
  },
  {
    state: 'that blocks its event loop while it loads',
    code: 'HERDLESS_LEASE_LOST',
    says: /This process lost 2 leases, because it was blocked, the last time for \d+ ms/,
    events: ['lost'],
    scene: ({ port }) => ({ redis: { port }, options: { leaseTtl: 90 }, does: 'blocked' }),
  },
]

let server: RedisServer
let replica: RedisServer
let full: RedisServer

beforeAll(async () => {
  ;[server, replica, full] = await Promise.all([startRedis(), startRedis(), startRedis(), builtPackage()])
  const everything = ['on', '>secret', '~*', '+@all']
  await server.client.call('ACL', 'SETUSER', 'limited', ...everything, '&*', '-evalsha', '-eval')
  await server.client.call('ACL', 'SETUSER', 'mute', ...everything, 'resetchannels')
  await replica.makeReadOnly()
  await full.exhaustMemory()
}, 60_000)

afterAll(async () => {
  await Promise.all([server, replica, full].map((each) => each?.stop()))
})

describe.concurrent.for(states)('a process $state', ({ code, says, events, scene }) => {
  test('is warned once', async () => {
    const { codes, text } = await warned(scene(server))
    expect(codes).toEqual([code])
    expect(text).toMatch(says)
    expect(text).toMatch(/HerdlessWarning: .*\(cache 'shop0'\)\n.*docs\/warnings\.md/)
  })

  test.for(events)('is not warned if it listens to %s', async (event) => {
    const [scenes, nothing] = [[{ listensTo: event }, { subscribesTo: event }], { codes: [] }]
    const heard = scenes.map((listener) => warned({ ...scene(server), ...listener }))
    expect(await Promise.all(heard)).toMatchObject([nothing, nothing])
  })

  test('is not warned if it does not want to be', async () => {
    const { options, ...others } = scene(server)
    const ofCache = warned({ ...others, options: { ...options, warnings: false } })
    const ofNode = warned(scene(server), { NODE_NO_WARNINGS: '1' })
    expect(await Promise.all([ofCache, ofNode])).toMatchObject([{ codes: [] }, { codes: [] }])
  })
})

describe.concurrent('a process in production', () => {
  const production = { NODE_ENV: 'production' }

  test('is warned once of a cache without a store, and never elsewhere or if it does not want to be', async () => {
    const { codes, text } = await warned({}, production)
    expect(codes).toEqual(['HERDLESS_MEMORY_STORE'])
    expect(text).toContain('The cache has no store')
    expect((await warned({})).codes).toEqual([])
    expect((await warned({ options: { warnings: false } }, production)).codes).toEqual([])
    expect((await warned({ options: { mode: 'observe' } }, production)).codes).toEqual([])
  })

  test('is not warned of numbers', async () => {
    expect((await warned({ redis: { port: server.port }, does: 'numbers' }, production)).codes).toEqual([])
  })
})

describe.concurrent('a process that gives a ttl as a number', () => {
  test('is warned once if that is probably seconds or a point in time', async () => {
    const inCalls = await warned({ does: 'numbers' })
    expect(inCalls.codes).toEqual(['HERDLESS_TTL'])
    expect(inCalls.text).toContain(`say which unit is meant, '60s' or '60ms'`)
    const ofCache = await warned({ options: { ttl: 31_536_000_000 } })
    expect(ofCache.codes).toEqual(['HERDLESS_TTL'])
  })

  test('is not warned of other numbers, of strings, or if it does not want to be', async () => {
    for (const ttl of [100, 31_535_999_999, '60ms', '1000d']) {
      expect((await warned({ options: { ttl } })).codes).toEqual([])
    }
    expect((await warned({ does: 'numbers', options: { warnings: false } })).codes).toEqual([])
  })
})

test('each cache of a process is warned of', async () => {
  const { codes, text } = await warned({ redis: { port: full.port }, caches: 2 })
  expect(codes).toEqual(['HERDLESS_STORE_FULL', 'HERDLESS_STORE_FULL'])
  expect(text).toContain(`(cache 'shop1')`)
})

test('a process whose server stays away is warned of the server, and not of the messages too', async () => {
  const scene: Scene = { redis: { port: 1 }, options: { commandTimeout: 100 }, does: 'waits', for: longer }
  expect((await warned(scene)).codes).toEqual(['HERDLESS_STORE_UNAVAILABLE'])
})
