import { describe, expect, test } from 'vitest'
import { createCache, memoryStore, warmUp, type Loader } from '../../src/index.ts'
import { settled } from '../support/fake-clock.ts'
import { answerOf, asked, valued } from './support/answer.ts'
import { fleet } from './support/fleet.ts'
import { Source } from './support/source.ts'

const keys = (count: number): string[] => Array.from({ length: count }, (_, index) => `k${index}`)

describe('a warm-up', () => {
  test('loads what is missing, and leaves what is there', async () => {
    const { a, b } = fleet()
    await a.set('k1', 'old')
    const loader: Loader<string> = ({ key }) => `new ${key}`
    expect(await warmUp(a, keys(3), loader)).toEqual({ loaded: 2, present: 1, failed: 0, failures: [] })
    expect(await b.peek('k0')).toMatchObject({ state: 'fresh', value: 'new k0' })
    expect(await b.peek('k1')).toMatchObject({ state: 'fresh', value: 'old' })
  })

  test('loads each key once, however many processes warm up at once', async () => {
    const { all } = fleet()
    const loads: string[] = []
    const loader: Loader<string> = async ({ key }) => {
      loads.push(key)
      await settled()
      return key
    }
    const results = await Promise.all(all.map((cache) => warmUp(cache, keys(50), loader)))
    expect(loads.toSorted()).toEqual(keys(50).toSorted())
    expect(results.reduce((sum, { loaded }) => sum + loaded, 0)).toBe(50)
    expect(results.map(({ loaded, present }) => loaded + present)).toEqual([50, 50, 50])
  })

  test('asks for so many keys at once, and takes no more from the iterable than it has room for', async () => {
    const { a } = fleet()
    const source = new Source<number>()
    let taken = 0
    function* many(): Generator<string> {
      while (taken < 1_000) yield `k${taken++}`
    }
    const stop = new AbortController()
    const answer = await asked(warmUp(a, many(), source.loader, { concurrency: 3, signal: stop.signal }))
    expect([source.runs.length, taken]).toEqual([3, 4])
    await source.resolve(1, 1)
    expect([source.runs.length, taken]).toEqual([4, 5])
    expect(answer.state).toBe('pending')
    stop.abort()
    for (const run of source.runs) run.resolve(1)
    await settled()
    expect([source.runs.length, taken]).toEqual([4, 5])
  })

  test('asks for eight at once unless told', async () => {
    const { a } = fleet()
    const source = new Source<number>()
    void warmUp(a, keys(20), source.loader)
    await settled()
    expect(source.runs).toHaveLength(8)
    for (let index = 0; index < 20; index++, await settled()) source.run(index).resolve(1)
  })

  test('takes keys from an asynchronous iterable, a wrapped cache, and a loader that is synchronous', async () => {
    const { a } = fleet()
    async function* rows(): AsyncGenerator<string> {
      yield* keys(10)
    }
    const cache = { getOrLoad: a.getOrLoad.bind(a) }
    expect(await warmUp(cache, rows(), () => 1)).toMatchObject({ loaded: 10 })
    expect(await warmUp(cache, new Set<string>(), () => 1)).toMatchObject({ loaded: 0, present: 0, failed: 0 })
  })

  test('replaces a stale value before it goes on', async () => {
    const { a, clock, source } = fleet({ ttl: '1m', grace: '1h' })
    for (const key of keys(4)) await a.set(key, 'old')
    await clock.advance(120_000)
    const answer = answerOf(warmUp(a, keys(4), source.loader, { concurrency: 1 }))
    for (let index = 0; index < 4; index++) {
      await settled()
      expect(source.runs).toHaveLength(index + 1)
      source.run(index).resolve('new')
    }
    await settled()
    expect(answer).toMatchObject({ state: 'value', value: { loaded: 4, present: 0 } })
    expect(await a.peek('k3')).toMatchObject({ state: 'fresh', value: 'new' })
  })

  test('leaves a fresh value that a hit would refresh', async () => {
    const { a, clock } = fleet({ ttl: '1m', refreshAhead: 0.5 })
    await a.set('k0', 1)
    await clock.advance(50_000)
    const source = new Source()
    expect(await warmUp(a, keys(1), source.loader)).toMatchObject({ present: 1 })
    await settled()
    expect(source.runs).toEqual([])
  })

  test('spreads the ttls over a tenth of them, or as told', async () => {
    const { a } = fleet({ ttl: 1_000 })
    const ttls = async (prefix: string, options?: { spread: number }): Promise<number[]> => {
      const warmed = keys(200).map((key) => prefix + key)
      await warmUp(a, warmed, () => 1, options)
      const peeked = await Promise.all(warmed.map((key) => a.peek(key)))
      return peeked.map((seen) => (seen.state === 'fresh' ? seen.ttl : 0)).toSorted((x, y) => x - y)
    }
    const within = (sorted: number[], least: number, most: number): void => {
      expect(sorted[0]).toBeGreaterThanOrEqual(least)
      expect(sorted.at(-1)).toBeLessThanOrEqual(most)
    }
    const usual = await ttls('a')
    within(usual, 900, 1_000)
    // Two hundred draws leave a fifth of the range out less often than once in 10^19.
    within(usual.slice(0, 1), 900, 920)
    within(usual.slice(-1), 980, 1_000)
    within(await ttls('b', { spread: 0 }), 1_000, 1_000)
    within((await ttls('c', { spread: 0.5 })).slice(0, 1), 500, 600)
  })

  test('hands the options of a call on', async () => {
    const { a } = fleet()
    await warmUp(a, keys(1), () => 1, { ttl: '1h', spread: 0, tags: ['t'] })
    expect(await a.peek('k0')).toMatchObject({ ttl: 3_600_000 })
    await a.invalidateTags(['t'])
    expect(await a.peek('k0')).toEqual({ state: 'missing' })
  })
})

test('a warm-up takes the options that its cache alone can judge', async () => {
  await using a = createCache({ sources: { pg: { concurrency: 2 } }, version: 2, warnings: false })
  const options = { source: 'pg', migrate: { 1: (old: unknown) => old } }
  expect(await warmUp(a, keys(2), () => 1, options)).toMatchObject({ loaded: 2, failed: 0 })
  const { failures } = await warmUp(a, ['k2'], () => 1, { source: 'mysql' })
  expect(failures).toEqual([{ key: 'k2', error: expect.any(TypeError) as unknown }])
})

describe('what fails in a warm-up', () => {
  test('does not stop the others', async () => {
    const { a } = fleet()
    const cause = new Error('no such row')
    const loader: Loader<number> = ({ key }) => {
      if (key === 'k1') throw cause
      return 1
    }
    const result = await warmUp(a, [...keys(3), ''], loader, { concurrency: 1 })
    expect(result).toMatchObject({ loaded: 2, present: 0, failed: 2 })
    expect(result.failures).toEqual([
      { key: 'k1', error: cause },
      { key: '', error: expect.any(TypeError) as unknown },
    ])
  })

  test('is counted, and told of the first hundred alone', async () => {
    const { a } = fleet()
    const result = await warmUp(a, keys(250), () => Promise.reject(new Error('down')))
    expect(result).toMatchObject({ loaded: 0, failed: 250 })
    expect(result.failures).toHaveLength(100)
  })

  test('asks the source for nothing while the store is away, unless told', async () => {
    const { a, ways } = fleet()
    ways.a.mode = 'failing'
    const source = new Source()
    expect(await warmUp(a, keys(3), source.loader)).toMatchObject({
      failed: 3,
      failures: [{ error: { code: 'STORE_UNAVAILABLE' } }, {}, {}],
    })
    expect(source.runs).toEqual([])
    expect(await warmUp(a, keys(3), () => 1, { onStoreFailure: 'load' })).toMatchObject({ loaded: 3 })
  })

  test('is the warm-up itself when its keys fail', async () => {
    const { a } = fleet()
    const cause = new Error('the cursor is gone')
    async function* rows(): AsyncGenerator<string> {
      yield 'k0'
      throw cause
    }
    await expect(warmUp(a, rows(), () => 1)).rejects.toBe(cause)
  })
})

describe('the signal of a warm-up', () => {
  test('stops it at once with its reason, and the load that runs goes on for the others', async () => {
    const { a, b, source } = fleet()
    const stop = new AbortController()
    let closed = false
    function* rows(): Generator<string> {
      try {
        yield* keys(10)
      } finally {
        closed = true
      }
    }
    const answer = await asked(warmUp(a, rows(), source.loader, { concurrency: 2, signal: stop.signal }))
    const other = answerOf(b.getOrLoad('k0', () => 'by b'))
    const reason = new Error('enough')
    stop.abort(reason)
    await settled()
    expect(answer).toEqual({ state: 'error', error: reason })
    await source.resolve(0, 'by a')
    expect(other).toEqual(valued('by a'))
    expect([source.runs.length, closed]).toEqual([2, true])
  })

  test('stops it while the next key is waited for', async () => {
    const { a } = fleet()
    const stop = new AbortController()
    async function* rows(): AsyncGenerator<string> {
      await new Promise(() => undefined)
      yield 'k0'
    }
    const answer = await asked(warmUp(a, rows(), () => 1, { signal: stop.signal }))
    stop.abort('enough')
    await settled()
    expect(answer).toEqual({ state: 'error', error: 'enough' })
  })

  test('lets nothing begin if it was aborted before', async () => {
    const { a } = fleet()
    let taken = 0
    function* rows(): Generator<string> {
      yield `k${taken++}`
    }
    await expect(warmUp(a, rows(), () => 1, { signal: AbortSignal.abort('no') })).rejects.toBe('no')
    expect(taken).toBe(0)
  })
})

test('a warm-up refuses what is wrong before it asks for a key', async () => {
  const a = createCache({ store: memoryStore() })
  const loader = (): number => 1
  const refused = async (run: () => Promise<unknown>, message: string): Promise<void> => {
    const error = (await run().catch((thrown: unknown) => thrown)) as Error
    expect(error).toBeInstanceOf(TypeError)
    expect(error.message).toContain(message)
  }
  const wrong =
    (options: object): (() => Promise<unknown>) =>
    () =>
      warmUp(a, keys(2), loader, options)
  await refused(wrong({ concurrency: 0 }), 'Expected `concurrency` to be a whole number of at least 1')
  await refused(wrong({ spread: 2 }), 'Expected `spread` to be a number from 0 to 1')
  await refused(wrong({ jitter: 0.1 }), 'Unknown option `jitter` of warmUp; expected `spread`')
  await refused(wrong({ ttl: -1 }), 'Expected `ttl`')
  await refused(wrong({ signal: {} }), 'Expected `signal` to be an AbortSignal')
  await refused(wrong({ concurency: 1 }), 'Unknown option `concurency`')
  await refused(wrong(null as unknown as object), 'Expected the options of warmUp to be an object, got null')
  await refused(() => warmUp(null as never, keys(1), loader), 'Expected a cache to warm up, got null')
  await refused(() => warmUp(a, 'k0', loader), 'Expected an iterable of keys')
  await refused(() => warmUp(a, 5 as never, loader), 'got 5 (number)')
  await refused(() => warmUp(a, keys(1), 'x' as never), 'Expected a loader function')
})
