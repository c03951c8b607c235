import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { CacheError, createCache, memoryStore, type Cache, type CacheOptions, type Store } from '../../src/index.ts'
import { redisStore } from '../../src/redis/index.ts'
import { leaseKey, valueKey } from '../../src/redis/values/keys.ts'
import { startRedis, type RedisServer } from '../support/servers.ts'
import { payloads, wronglyRead } from './door/bytes.ts'
import { bounds, durations, wronglyTaken as wrongDuration } from './door/durations.ts'
import { confused, hashTag, isKey, keys, namespaces, steps } from './door/keys.ts'
import { messages, wronglyTold } from './door/messages.ts'
import { known, optionsOf, wronglyTaken, type Options } from './door/options.ts'
import { outcomeOf } from './door/outcome.ts'
import { places, wronglyHealed } from './door/spoilt.ts'
import { anything, samples, wronglyAnswered, wronglyKept } from './door/values.ts'
import { runs } from './runs.ts'

/** How many inputs each door was tried with. */
const tried = new Map<string, number>()

function count(door: string, inputs = 1): void {
  tried.set(door, (tried.get(door) ?? 0) + inputs)
}

/** An answer that takes longer, in milliseconds, is none, however slow the machine is. */
const hung = { timeout: 90_000 }
/** What is found on Redis depends on the moment, so a smaller case would not show it again. */
const once = { ...hung, endOnFailure: true }

const warnings: string[] = []
const note = (warning: Error & { readonly code?: string }): void => {
  // The options may make every value too large, and a key may be odd.
  if (!/^HERDLESS_(UNSTORABLE|KEY)$/.test(warning.code ?? '')) warnings.push(`${warning.name}: ${warning.message}`)
}
const prototypesBefore = prototypes()

let server: RedisServer
const opened: Cache[] = []

beforeAll(async () => {
  process.on('warning', note)
  server = await startRedis()
})

afterAll(async () => {
  process.off('warning', note)
  await Promise.all(opened.map((cache) => cache.close()))
  await server?.stop()
})

/** Whatever the prototypes have of their own that somebody could put something on. */
function prototypes(): unknown[] {
  const all = [Object, Array, Map, Set, Date, Uint8Array, Buffer, Function, Promise, String, Error, CacheError]
  return all.map((made) => [Reflect.ownKeys(made), Reflect.ownKeys(made.prototype as object)])
}

/** A cache on Redis, as one more process would have it. What goes wrong is not to be made up for by its own loads. */
function far(options: CacheOptions): Cache {
  const always = { commandTimeout: '60s', onStoreFailure: 'throw' } as const
  const cache = createCache({ ...always, ...options, store: redisStore(server.connect()) })
  opened.push(cache)
  return cache
}

test('a duration is worth what it says, or is refused by the name of its option', () => {
  const property = fc.property(durations, fc.constantFrom(...bounds), (given, within) => {
    count('durations')
    expect(wrongDuration(given, within)).toBeNull()
  })
  fc.assert(property, { numRuns: runs(30_000) })
})

/** Asks for a value of one byte, twice: the least that a cache can do, whatever its options are. */
async function works(cache: Cache, key: string): Promise<boolean> {
  return (await cache.getOrLoad(key, () => 1)) === 1 && (await cache.getOrLoad(key, () => 1)) === 1
}

const shared = createCache()

/** The functions that take options, and whether all is well after one was given some. */
const takers = {
  createCache: async (given: object, key: string) => {
    const cache = createCache(given)
    const well = await works(cache, key)
    await cache.close()
    return well
  },
  getOrLoad: async (given: object, key: string) =>
    (await shared.getOrLoad(key, () => 1, given)) === 1 && (await works(shared, key)),
  set: async (given: object, key: string) => {
    await shared.set(key, 1, given)
    return works(shared, key)
  },
  close: async (given: object) => {
    await createCache({ store: memoryStore({ max: 1 }) }).close(given)
    return true
  },
  memoryStore: (given: object, key: string) => works(createCache({ store: memoryStore(given) }), key),
  redisStore: (given: object) => typeof redisStore(server.client, given).claim === 'function',
}

test.for(Object.keys(takers) as (keyof typeof takers)[])(
  'the options of %s are taken and work, or are refused by name',
  async (taker) => {
    const options: Options = known[taker]
    const property = fc.asyncProperty(optionsOf(options), async (given) => {
      count('options')
      const outcome = await outcomeOf(() => takers[taker](given as object, `${taker} ${tried.get('options')}`))
      expect(wronglyTaken(given, options, outcome)).toBeNull()
    })
    await fc.assert(property, { ...hung, numRuns: runs(taker === 'memoryStore' ? 1_000 : 3_000) })
  },
)

test('a value comes back as it went in, or is refused if it could not', () => {
  const property = fc.property(samples, (sample) => {
    count('values')
    expect(wronglyKept(sample)).toBeNull()
  })
  fc.assert(property, { numRuns: runs(15_000) })
})

test('a hit is what the miss before it was, whatever the value, or both are the same error', async () => {
  const cache = createCache({ maxValueSize: 300, unstorable: 'throw' })
  const some = fc.oneof(
    samples,
    anything.map((value) => ({ value, storable: null })),
  )
  const property = fc.asyncProperty(some, async ({ value, storable }) => {
    count('values')
    expect(await wronglyAnswered(cache, `key ${tried.get('values')}`, value, storable)).toBeNull()
  })
  await fc.assert(property, { ...hung, numRuns: runs(6_000) })
})

test('bytes of whatever origin are read as a value, or refused as none', () => {
  const property = fc.property(payloads, (bytes) => {
    count('bytes to decode')
    expect(wronglyRead(bytes)).toBeNull()
  })
  fc.assert(property, { numRuns: runs(25_000) })
})

test.for(['memory', 'Redis'])("a key is nobody else's in %s, whatever it looks like, or is refused", async (where) => {
  const memory = memoryStore()
  const stores = [0, 1].map(() => (where === 'memory' ? memory : redisStore(server.connect()))) as [Store, Store]
  // They stay open from one run to the next.
  opened.push(...stores.map((store) => createCache({ store })))
  const property = fc.asyncProperty(steps, async (all) => {
    count('keys', all.length)
    expect(await confused(all, stores, randomUUID())).toEqual([])
  })
  await fc.assert(property, { ...once, numRuns: runs(where === 'memory' ? 600 : 300) })
})

test('a value and its lease are in one slot, whatever the key looks like', () => {
  const property = fc.property(keys.filter(isKey), fc.constantFrom(...namespaces), (key, namespace) => {
    count('keys')
    const name = `${namespace}:${key}`
    expect(hashTag(leaseKey(name))).toBe(hashTag(valueKey(name)))
    expect(hashTag(valueKey(name)).startsWith(namespace)).toBe(true)
    expect(leaseKey(name)).not.toBe(valueKey(name))
  })
  fc.assert(property, { numRuns: runs(5_000) })
})

test('messages from a stranger harm nobody who loads, and nobody who waits for it', async () => {
  const [holder, waiter] = [far({ namespace: 'told' }), far({ namespace: 'told' })]
  const stranger = server.connect()
  await Promise.all([holder, waiter].map((cache) => cache.getOrLoad('open', () => 1)))
  const inboxes = await until('they listen', async () => {
    const all = (await stranger.pubsub('CHANNELS', 'herdless:inbox:*')) as string[]
    return all.length >= 2 && all
  })
  const scene = { holder, waiter, stranger, inboxes }
  const property = fc.asyncProperty(fc.array(messages, { minLength: 40, maxLength: 40 }), async (all) => {
    count('messages', all.length)
    expect(await wronglyTold(all, scene, 'told', randomUUID())).toBeNull()
  })
  await fc.assert(property, { ...once, numRuns: runs(200) })
})

test('whatever somebody leaves at the keys of an entry, it is loaded over and well again', async () => {
  const namespace = 'left'
  const options = { namespace, grace: '1h', failureCooldown: 0 } as const
  const [one, other] = [far(options), far(options)]
  const stranger = server.connect()
  await one.set('fresh', 'stored')
  await one.set('stale', 'stored', { ttl: 1 })
  const bytesOf = async (key: string): Promise<Buffer> => (await stranger.getBuffer(`{left:${key}}`)) as Buffer
  const scene = { one, other, stranger, good: { fresh: await bytesOf('fresh'), stale: await bytesOf('stale') } }
  const property = fc.asyncProperty(fc.array(places, { minLength: 40, maxLength: 40 }), async (all) => {
    count('bytes in Redis', all.length)
    const wrong = await Promise.all(all.map((place) => wronglyHealed(place, scene, namespace, randomUUID())))
    expect(wrong.filter((fault) => fault !== null)).toEqual([])
  })
  await fc.assert(property, { ...once, numRuns: runs(80) })
})

test('all that was many inputs, and no prototype was touched and no warning given', () => {
  expect([...tried.values()].reduce((sum, inputs) => sum + inputs, 0)).toBeGreaterThanOrEqual(runs(100_000))
  expect(prototypes()).toEqual(prototypesBefore)
  expect(warnings).toEqual([])
})
