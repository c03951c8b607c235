import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { createCache, memoryStore, type Cache, type CacheEvents } from '../../../src/index.ts'
import { redisStore } from '../../../src/redis/index.ts'
import { settled } from '../../support/fake-clock.ts'
import { fleet } from '../support/fleet.ts'

const secret = 'hunter2'

/** All that can be found out from something by printing it. */
function printed(told: unknown): string {
  const { stack = '', message = '' } = (told ?? {}) as Partial<Error>
  return [inspect(told, { depth: Infinity, showHidden: true, maxStringLength: null }), stack, message].join('\n')
}

function thrownBy(work: () => unknown): Promise<unknown> {
  return Promise.resolve()
    .then(work)
    .then(
      () => expect.fail('Nothing was thrown'),
      (error: unknown) => error,
    )
}

const events: readonly (keyof CacheEvents)[] = [
  ...(['failure', 'garbage', 'unstorable', 'storeFailure', 'degraded', 'lost', 'fill', 'hit'] as const),
]

/** Everything that a cache says from now on. */
function overheard(cache: Cache): unknown[] {
  const heard: unknown[] = []
  for (const name of events) cache.on(name, (event) => heard.push(event))
  return heard
}

const url = `redis://user:${secret}@localhost:6379?password=${secret}`
test.for<[string, () => unknown]>([
  ['the client of redisStore', () => redisStore(url as never)],
  ['the store', () => createCache({ store: url as never })],
  ['the options of createCache', () => createCache(url as never)],
  ['the options of memoryStore', () => memoryStore({ max: url as never })],
  ['the namespace', () => createCache({ namespace: `{${url}}` })],
  ['a duration', () => createCache({ ttl: url as never })],
  ['a choice', () => createCache({ onStoreFailure: url as never })],
  ['a codec', () => createCache({ codec: url as never })],
  ['a clock', () => createCache({ clock: url as never })],
  ['the options of a call', () => createCache().getOrLoad('k', () => 1, url as never)],
  ['a signal', () => createCache().getOrLoad('k', () => 1, { signal: url as never })],
  ['a loader', () => createCache().getOrLoad('k', url as never)],
  ['the options of set', () => createCache().set('k', 1, url as never)],
  ['a listener', () => createCache().on('hit', url as never)],
  ['an event', () => createCache().on(url as never, () => undefined)],
])('a connection string given in place of something else (%s) is not in the TypeError', async ([, work]) => {
  const error = await thrownBy(work)
  expect(error).toBeInstanceOf(TypeError)
  expect(printed(error)).not.toContain(secret)
})

describe('what is said of a value', () => {
  test.for<[string, unknown]>([
    [
      'cannot be stored is where it stands, and not what it is',
      { card: secret, list: [secret, { call: () => secret }], [`${secret} as a name`]: 1 },
    ],
    ['is too large is its size', secret.repeat(100)],
  ])('that %s', async ([, value]) => {
    const { a } = fleet({ maxValueSize: 500 })
    const heard = overheard(a)
    const loaded = await thrownBy(() => a.getOrLoad('k', () => value, { unstorable: 'throw' }))
    await a.getOrLoad('l', () => value)
    const set = await thrownBy(() => a.set('k', value))
    await settled()
    expect(heard.length).toBeGreaterThan(1)
    for (const told of [loaded, set, ...heard]) expect(printed(told)).not.toContain(secret)
  })

  test('that is stored, served, or cannot be read, is its key and its size', async () => {
    const { a, ways } = fleet()
    const heard = overheard(a)
    await a.getOrLoad('k', () => secret)
    expect(await a.getOrLoad('k', () => 'wrong')).toBe(secret)
    const entry = {
      token: 't'.repeat(16),
      version: 1,
      age: 1,
      freshFor: 1_000,
      staleFor: 1_000,
      loadTime: 1,
      tags: [],
      validators: null,
    }
    ways.a.read = async () => ({ ...entry, payload: Buffer.from(`{"${secret}`) })
    expect(await a.peek('k')).toEqual({ state: 'missing' })
    expect(heard).toHaveLength(3)
    for (const told of heard) expect(printed(told)).not.toContain(secret)
  })
})

test('what a store says when it fails is kept without the command, which has the value in it', async () => {
  const { a, ways } = fleet({ onStoreFailure: 'throw' })
  const heard = overheard(a)
  const error = Object.assign(new Error('OOM command not allowed'), {
    command: { name: 'evalsha', args: ['sha', 2, secret] },
    previousErrors: [secret],
    lastNodeError: { command: { args: [secret] } },
  })
  const fail = (): Promise<never> => Promise.reject(error)
  Object.assign(ways.a, { read: fail, claim: fail, fill: fail, set: fail, invalidate: fail })
  const told = [
    await thrownBy(() => a.getOrLoad('k', () => secret)),
    await thrownBy(() => a.set('k', secret)),
    await thrownBy(() => a.invalidate('k')),
    await thrownBy(() => a.peek('k')),
  ]
  expect(heard.length).toBeGreaterThanOrEqual(4)
  for (const said of [...told, ...heard]) {
    expect(printed(said)).toContain('OOM command not allowed')
    expect(printed(said)).not.toContain(secret)
  }
})
