import { describe, expect, test } from 'vitest'
import type { CacheOptions, CallOptions, LoadContext } from '../../../src/index.ts'
import { settled } from '../../support/fake-clock.ts'
import { allAsked, answerOf, answersOf, asked, pending, valued } from '../support/answer.ts'
import { fleet } from '../support/fleet.ts'
import { allLoading, loading, Source } from '../support/source.ts'

describe('the hard timeout', () => {
  test('ends a load with LOAD_TIMEOUT for all who waited, and aborts its signal (rule 8)', async () => {
    const { a, b, clock } = fleet({ hardTimeout: '2s' })
    const { source, answers } = await allLoading([a, b])
    await clock.advance(1_999)
    const { signal } = source.run(0).context
    expect([answers[0], answers[1], signal.aborted]).toEqual([pending, pending, false])
    await clock.advance(1)
    const error = { code: 'LOAD_TIMEOUT', key: 'k', message: 'Loading "k" took longer than 2000 ms' }
    expect(answers).toMatchObject([
      { state: 'error', error },
      { state: 'error', error },
    ])
    expect(signal.aborted).toBe(true)
    expect(signal.reason).toMatchObject(error)
    expect(source.runs).toHaveLength(1)
  })

  test.for(['resolve', 'reject'] as const)(
    'lets nobody have what the loader brings after all: %s (rule 2)',
    async (end) => {
      const { a, b, clock } = fleet({ hardTimeout: '2s', failureCooldown: 0 })
      const { source, answer } = await loading(a)
      await clock.advance(2_000)
      await source[end](0, 'too late')
      expect(answer).toMatchObject({ error: { code: 'LOAD_TIMEOUT' } })
      expect(await b.peek('k')).toEqual({ state: 'missing' })
      expect(await b.getOrLoad('k', () => 'new')).toBe('new')
    },
  )

  test('of a loader that heeds its signal is heard before the loader is', async () => {
    const { a, clock } = fleet()
    const heeds = ({ signal }: LoadContext): Promise<never> =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
    // A call may have a timeout of its own.
    const answer = answerOf(a.getOrLoad('k', heeds, { hardTimeout: 100 }))
    await clock.advance(100)
    expect(answer).toMatchObject({ error: { code: 'LOAD_TIMEOUT' } })
  })
})

describe('the wait timeout', () => {
  test('rejects only the caller whose timeout is over, and not the load (rule 8)', async () => {
    const { a, b, clock, source } = fleet()
    const patient = answersOf([a.getOrLoad('k', source.loader), b.getOrLoad('k', source.loader)])
    const impatient = answersOf([a, b].map((cache) => cache.getOrLoad('k', source.loader, { waitTimeout: 300 })))
    await clock.advance(299)
    expect(impatient).toEqual([pending, pending])
    await clock.advance(1)
    const error = { code: 'WAIT_TIMEOUT', key: 'k', message: 'No answer for "k" within 300 ms' }
    expect(impatient).toMatchObject([
      { state: 'error', error },
      { state: 'error', error },
    ])
    expect(source.run(0).context.signal.aborted).toBe(false)
    await source.resolve(0, 'v')
    expect(patient).toEqual([valued('v'), valued('v')])
    expect(source.runs).toHaveLength(1)
  })

  test.for<[string, CacheOptions, CallOptions]>([
    ['the cache', { waitTimeout: '31s' }, {}],
    ['the cache, with another hard timeout', { hardTimeout: 100, waitTimeout: 1_100 }, {}],
    ['the call', {}, { waitTimeout: '31s' }],
  ])(
    'that is given for %s holds, though it is the default, whatever hard timeout the call has',
    async ([, options, call]) => {
      const { a, clock } = fleet({ leaseTtl: '1m', ...options })
      const answer = answerOf(a.getOrLoad('k', new Source().loader, { hardTimeout: '2m', ...call }))
      await clock.advance(Number(options.waitTimeout === 1_100 ? 1_100 : 31_000))
      expect(answer).toMatchObject({ error: { code: 'WAIT_TIMEOUT' } })
    },
  )

  test('of the caller whose loader runs does not end the load: its value is stored (rule 8)', async () => {
    const { a, b, clock } = fleet()
    const { source, answer: impatient } = await loading(a, { waitTimeout: 300 })
    await clock.advance(300)
    expect(impatient).toMatchObject({ error: { code: 'WAIT_TIMEOUT' } })
    await source.resolve(0, 'v')
    expect(await b.getOrLoad('k', source.loader)).toBe('v')
    expect(source.runs).toHaveLength(1)
  })

  test('ends while the value is read, if a read may take longer (rule 8)', async () => {
    const { a, ways, clock } = fleet({ waitTimeout: 300, commandTimeout: '1s' })
    ways.a.hold('read', 'before')
    const answer = answerOf(a.getOrLoad('k', () => 'v'))
    await clock.advance(299)
    expect(answer).toEqual(pending)
    await clock.advance(1)
    expect(answer).toMatchObject({ error: { code: 'WAIT_TIMEOUT', key: 'k' } })
  })

  test('ends, too, while the caller reads again after its load was voided (rule 8)', async () => {
    const { a, b, ways, clock } = fleet({ waitTimeout: '2s', commandTimeout: '1s', warnings: false })
    const { source, answer } = await loading(a)
    await clock.advance(1_500)
    ways.a.hold('read', 'before')
    const reads = ways.a.count('read')
    await b.invalidate('k')
    await settled()
    expect(ways.a.count('read')).toBe(reads + 1)
    await clock.advance(499)
    expect(answer).toEqual(pending)
    await clock.advance(1)
    expect(answer).toMatchObject({ error: { code: 'WAIT_TIMEOUT', key: 'k' } })
    await clock.advance(1_000)
    expect(source.runs).toHaveLength(1)
  })

  test('leaves no timer behind when the answer comes first', async () => {
    const { a, clock } = fleet()
    await Promise.all(Array.from({ length: 10 }, () => a.getOrLoad('k', () => 'v', { waitTimeout: '10s' })))
    await clock.advance(10_000)
    expect(clock.pending).toBe(0)
  })

  test('ends the asking for a refresh as well, which nobody waits for', async () => {
    const { a, b, clock, ways, source } = fleet({ ttl: '1s', grace: '1h', hardTimeout: '1d', waitTimeout: '2s' })
    await a.set('k', 'old')
    await clock.advance(1_000)
    for (const cache of [a, b]) expect(await cache.getOrLoad('k', source.loader)).toBe('old')
    await clock.advance(3_000)
    const asked = ways.b.count('claim')
    expect(asked).toBeGreaterThan(3)
    await clock.advance(60_000)
    expect(ways.b.count('claim')).toBe(asked)
    expect(source.runs).toHaveLength(1)
  })

  test('of the last one who waits in a process ends its asking', async () => {
    const { a, b, clock, ways } = fleet({ hardTimeout: '1d' })
    const { source } = await loading(a, { waitTimeout: '1d' })
    answerOf(b.getOrLoad('k', source.loader, { waitTimeout: '2s' }))
    await clock.advance(3_000)
    const asked = ways.b.count('claim')
    expect(asked).toBeGreaterThan(3)
    await clock.advance(60_000)
    expect(ways.b.count('claim')).toBe(asked)
  })
})

describe('an AbortSignal', () => {
  test('that is aborted already ends the call before anything is read (rule 8)', async () => {
    const { a, ways } = fleet()
    const source = new Source()
    const reason = new Error('gone')
    await expect(a.getOrLoad('k', source.loader, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(ways.a.sent).toEqual([])
    expect(source.runs).toEqual([])
  })

  test('that is aborted while the value is read ends the call, and nothing is loaded for it (rule 8)', async () => {
    const { a, ways } = fleet()
    const source = new Source()
    const letGo = ways.a.hold('read', 'after')
    const abort = new AbortController()
    const reason = new Error('gone')
    const answer = await asked(a.getOrLoad('k', source.loader, { signal: abort.signal }))
    abort.abort(reason)
    letGo()
    await settled()
    expect(answer).toEqual({ state: 'error', error: reason })
    expect(source.runs).toEqual([])
  })

  test('that is aborted while a stale value is read starts no refresh, and counts as no answer', async () => {
    const { a, ways, clock } = fleet({ ttl: '1s', grace: '1m' })
    await a.set('k', 'old')
    await clock.advance(1_000)
    const letGo = ways.a.hold('read', 'after')
    const abort = new AbortController()
    const { source, answer } = await loading(a, { signal: abort.signal })
    abort.abort(new Error('gone'))
    letGo()
    await settled()
    expect(answer).toEqual({ state: 'error', error: new Error('gone') })
    expect(source.runs).toEqual([])
    expect(a.stats()).toMatchObject({ stale: 0, misses: 0, loads: 0 })
  })

  test('that is aborted while the load runs ends this caller only (rule 8)', async () => {
    const { a, b } = fleet()
    const abort = new AbortController()
    const reason = new Error('gone')
    const { source, answer: leader } = await loading(a, { signal: abort.signal })
    const others = await allAsked([a.getOrLoad('k', source.loader), b.getOrLoad('k', source.loader)])
    abort.abort(reason)
    await settled()
    expect(leader).toEqual({ state: 'error', error: reason })
    expect(source.run(0).context.signal.aborted).toBe(false)
    await source.resolve(0, 'v')
    expect(others).toEqual([valued('v'), valued('v')])
    expect(source.runs).toHaveLength(1)
  })

  test('that is aborted while another process loads ends this caller only (rule 8)', async () => {
    const { a, b } = fleet()
    const { source, answer: leader } = await loading(a)
    const abort = new AbortController()
    const [gone, other] = await allAsked([
      b.getOrLoad('k', source.loader, { signal: abort.signal }),
      b.getOrLoad('k', source.loader),
    ])
    abort.abort(new Error('gone'))
    await settled()
    expect([leader, other]).toEqual([pending, pending])
    expect(gone).toEqual({ state: 'error', error: new Error('gone') })
    await source.resolve(0, 'v')
    expect([leader, other]).toEqual([valued('v'), valued('v')])
  })

  test('may be aborted with anything, undefined included', async () => {
    const { a } = fleet()
    for (const reason of ['text', null, 7]) {
      const abort = new AbortController()
      const answer = await asked(a.getOrLoad('k', new Source().loader, { signal: abort.signal }))
      abort.abort(reason)
      await settled()
      expect(answer).toEqual({ state: 'error', error: reason })
    }
  })

  test('has no listener left when the call is answered', async () => {
    const { a } = fleet()
    const { signal } = new AbortController()
    let listeners = 0
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (...args: Parameters<typeof add>) => (listeners++, add(...args))
    signal.removeEventListener = (...args: Parameters<typeof remove>) => (listeners--, remove(...args))
    await a.getOrLoad('k', async () => (await settled(), 'v'), { signal })
    expect(listeners).toBe(0)
  })

  test.for([
    ['the store is away and the caller wants to know', { onStoreFailure: 'throw' }],
    ['the store is away and the loader fails', { onStoreFailure: 'load' }],
  ] as const)(
    'that is aborted while the value is read loads nothing and leaves no rejection unhandled when %s',
    async ([, options]) => {
      const { a, ways, clock } = fleet(options)
      const unhandled: unknown[] = []
      const note = (reason: unknown): void => void unhandled.push(reason)
      process.on('unhandledRejection', note)
      try {
        ways.a.mode = 'silent'
        const abort = new AbortController()
        let loads = 0
        const loader = () => (loads++, Promise.reject(new Error('down')))
        const answer = await asked(a.getOrLoad('k', loader, { signal: abort.signal }))
        abort.abort(new Error('gone'))
        await clock.advance(1_000)
        await settled()
        expect(answer).toEqual({ state: 'error', error: new Error('gone') })
        expect({ unhandled, loads }).toEqual({ unhandled: [], loads: 0 })
      } finally {
        process.off('unhandledRejection', note)
      }
    },
  )
})
