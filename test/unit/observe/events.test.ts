import { once } from 'node:events'
import { assert, describe, expect, test } from 'vitest'
import type { Cache, CacheEvents } from '../../../src/index.ts'
import { settled } from '../../support/fake-clock.ts'
import { answerOf, asked, valued } from '../support/answer.ts'
import { fleet, told } from '../support/fleet.ts'
import { allLoading, loading, Source, throwing } from '../support/source.ts'

const names = [
  'hit',
  'stale',
  'miss',
  'load',
  'wait',
  'fill',
  'refused',
  'lost',
  'failure',
  'garbage',
  'invalidate',
  'degraded',
  'recovered',
] as const satisfies readonly (keyof CacheEvents)[]

/** Everything that a cache tells, in order, the name of the event first. */
function heard(cache: Cache): unknown[][] {
  const events: unknown[][] = []
  for (const name of names) cache.on(name, (event) => events.push([name, event]))
  return events
}

describe('a cache tells', () => {
  test('of a miss, the load and the fill, and then of hits', async () => {
    const { a, clock } = fleet()
    const events = heard(a)
    const { source } = await loading(a)
    await clock.advance(250)
    await source.resolve(0, 'v')
    await a.getOrLoad('k', source.loader)
    expect(events).toEqual([
      ['miss', { key: 'k' }],
      ['load', { key: 'k', leased: true }],
      ['fill', { key: 'k', bytes: 3, loadTime: 250 }],
      ['hit', { key: 'k' }],
    ])
  })

  test('of each caller, and of one load', async () => {
    const { a } = fleet()
    const events = heard(a)
    const { source } = await allLoading([a, a, a])
    await source.resolve(0, 'v')
    expect(events.map(([name]) => name)).toEqual(['miss', 'miss', 'miss', 'load', 'fill'])
  })

  test('of a wait for another process, once', async () => {
    const { a, b, clock } = fleet()
    const events = heard(b)
    const { source } = await loading(a)
    answerOf(b.getOrLoad('k', source.loader))
    await clock.advance(5_000)
    await source.resolve(0, 'v')
    expect(events).toEqual([
      ['miss', { key: 'k' }],
      ['wait', { key: 'k' }],
    ])
  })

  test('of stale values that were served, with their age', async () => {
    const { a, clock } = fleet({ ttl: '1s', grace: '1m' })
    await a.getOrLoad('k', () => 'v')
    await clock.advance(3_000)
    const events = heard(a)
    await a.getOrLoad('k', () => 'new')
    await settled()
    expect(events.map(([name]) => name)).toEqual(['stale', 'load', 'fill'])
    expect(events[0]).toEqual(['stale', { key: 'k', age: 3_000 }])
  })

  test('of a value that a caller is served after it had missed, as such', async () => {
    const { a, b, clock } = fleet({ ttl: '1s', grace: '1m', softTimeout: 200 })
    const [hits, stale] = [told(b, 'hit'), told(b, 'stale')]
    const { source } = await loading(a)
    const answers = [await asked(b.getOrLoad('k', source.loader))]
    // It joins a wait whose claim was answered before it asked, and so asks again.
    answers.push(await asked(b.getOrLoad('k', source.loader)))
    await source.resolve(0, 'v')
    expect(answers).toEqual([valued('v'), valued('v')])
    expect(hits).toEqual([{ key: 'k', missed: true }])
    await clock.advance(2_000)
    answerOf(b.getOrLoad('k', source.loader))
    await clock.advance(200)
    expect(stale).toEqual([{ key: 'k', age: 2_000, missed: true }])
  })

  test('of an invalidation and a set, once they are done, and of none that did not arrive', async () => {
    const { a, ways } = fleet()
    const events = heard(a)
    ways.a.mode = 'failing'
    await expect(a.invalidate('k')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    ways.a.mode = 'answering'
    const letGo = ways.a.hold('invalidate', 'before')
    const invalidation = a.invalidate('k')
    await settled()
    expect(events).toEqual([])
    letGo()
    await invalidation
    await a.set('l', 'v')
    expect(events).toEqual([
      ['invalidate', { key: 'k' }],
      ['invalidate', { key: 'l' }],
    ])
  })

  test('of a store that falls silent, of loads without a lease, and of its return', async () => {
    const { a, ways, clock } = fleet()
    const events = heard(a)
    ways.a.mode = 'silent'
    answerOf(a.getOrLoad('k', () => 'v'))
    await clock.advance(1_000)
    ways.a.thaw()
    await settled()
    expect(events).toMatchObject([
      ['degraded', { error: { code: 'STORE_UNAVAILABLE' } }],
      ['miss', { key: 'k' }],
      ['load', { key: 'k', leased: false }],
      ['recovered', { after: 500 }],
    ])
  })

  test('of a load that failed without a lease', async () => {
    const { a, ways, clock } = fleet({ commandTimeout: '100ms' })
    const failures = told(a, 'failure')
    ways.a.mode = 'silent'
    const { source } = await loading(a)
    await clock.advance(150)
    await source.reject(0, new Error('down'))
    expect(failures).toMatchObject([{ key: 'k', error: { code: 'LOAD_FAILED' }, duration: 50 }])
  })

  test('of a value that is refreshed before its time, and of no refresh that is under way already', async () => {
    const { a, clock, source } = fleet({ ttl: '10s', refreshAhead: 0.5 })
    const ahead = told(a, 'refreshAhead')
    await a.getOrLoad('k', () => 'v')
    await clock.advance(4_000)
    await a.getOrLoad('k', () => 'v')
    expect(ahead).toEqual([])
    await clock.advance(2_000)
    await a.getOrLoad('k', source.loader)
    await a.getOrLoad('k', source.loader)
    await settled()
    expect(ahead).toEqual([{ key: 'k' }])
    expect(source.runs).toHaveLength(1)
  })
})

describe('a cache tells how long it took', () => {
  test('for no answer that was there at once, whichever way it came', async () => {
    const { a, clock } = fleet({ ttl: '1s', grace: '1m' })
    const answers = told(a, 'answer')
    await a.set('k', 'v')
    await a.getOrLoad('k', () => 'w')
    await a.getOrLoad('k', () => 'w', { signal: new AbortController().signal })
    await clock.advance(2_000)
    await a.getOrLoad('k', () => 'w')
    expect(answers).toEqual([])
  })

  test('until a caller that had missed was given an error, its own timeout too', async () => {
    const { a, clock } = fleet({ waitTimeout: '1s', leaseTtl: '30s' })
    const answers = told(a, 'answer')
    const answer = answerOf(a.getOrLoad('k', new Source().loader))
    await clock.advance(5_000)
    expect(answer).toMatchObject({ state: 'error', error: { code: 'WAIT_TIMEOUT' } })
    expect(answers).toEqual([{ key: 'k', duration: 1_000 }])
  })

  test('until the load of another process, which was waited for, had ended: once a process', async () => {
    const { a, b, clock } = fleet()
    const [here, there] = [told(a, 'waited'), told(b, 'waited')]
    const { source } = await loading(a)
    await clock.advance(40)
    answerOf(b.getOrLoad('k', source.loader))
    answerOf(b.getOrLoad('k', source.loader))
    await clock.advance(5_000)
    await source.resolve(0, 'v')
    expect({ here, there }).toEqual({ here: [], there: [{ key: 'k', duration: 5_000 }] })
  })

  test('until the lease came to who had waited, and not until its own load was over', async () => {
    const { a, b, clock } = fleet()
    const waited = told(b, 'waited')
    const { source } = await loading(a)
    answerOf(b.getOrLoad('k', source.loader))
    await clock.advance(300)
    void a.close({ timeout: 0 })
    await clock.advance(700)
    expect(source.runs).toHaveLength(2)
    await source.resolve(1, 'v')
    expect(waited).toEqual([{ key: 'k', duration: 300 }])
  })

  test('until a load had failed, and with what, in the process that loads and in the one that waits', async () => {
    const { a, b, clock } = fleet()
    const [here, there] = [told(a, 'failure'), told(b, 'failure')]
    const { source } = await loading(a)
    await clock.advance(100)
    answerOf(b.getOrLoad('k', source.loader))
    await clock.advance(400)
    await source.reject(0, new Error('down'))
    const error = { code: 'LOAD_FAILED', message: 'Loading "k" failed: down' }
    expect([here, there]).toMatchObject([[{ key: 'k', duration: 500, error }], [{ key: 'k', duration: 400, error }]])
  })
})

describe('a listener', () => {
  test('hears nothing any more once it is taken off', async () => {
    const { a } = fleet()
    const keys: string[] = []
    const off = a.on('miss', ({ key }) => keys.push(`first ${key}`))
    a.on('miss', ({ key }) => keys.push(`second ${key}`))
    await a.getOrLoad('k', () => 'v')
    off()
    off()
    await a.getOrLoad('l', () => 'v')
    expect(keys).toEqual(['first k', 'second k', 'second l'])
  })

  test('hears on when one that was there before it is taken off a second time', async () => {
    const { a } = fleet()
    const keys: string[] = []
    const off = a.on('miss', () => assert.fail('it is off'))
    off()
    a.on('miss', ({ key }) => keys.push(key))
    off()
    await a.getOrLoad('k', () => 'v')
    expect(keys).toEqual(['k'])
  })

  test('that was added twice is told twice, and once when one of the two is taken off', async () => {
    const { a } = fleet()
    const keys: string[] = []
    const listener = ({ key }: { readonly key: string }): void => void keys.push(key)
    const off = a.on('miss', listener)
    a.on('miss', listener)
    await a.getOrLoad('k', () => 'v')
    off()
    off()
    await a.getOrLoad('l', () => 'v')
    expect(keys).toEqual(['k', 'k', 'l'])
  })

  test.for(['alone', 'beside another'])('that puts a new one in its place is called once an event, %s', async (how) => {
    const { a } = fleet()
    const keys: string[] = []
    if (how !== 'alone') a.on('miss', () => undefined)
    const listen = (): void => {
      const off = a.on('miss', ({ key }) => {
        off()
        // Without end, if the new one were told of this event, too.
        if (keys.push(key) < 100) listen()
      })
    }
    listen()
    await a.getOrLoad('k', () => 'v')
    await a.getOrLoad('l', () => 'v')
    expect(keys).toEqual(['k', 'l'])
  })

  test.for<[string, () => void]>([
    ['throws', () => assert.fail('of the listener')],
    ['rejects', () => Promise.reject(new Error('of the listener'))],
  ])('that %s breaks nothing, keeps no other from hearing, and its error is a warning', async ([, listener]) => {
    const { a } = fleet()
    const keys: string[] = []
    a.on('load', listener)
    a.on('load', ({ key }) => keys.push(key))
    const warning = once(process, 'warning')
    expect(await a.getOrLoad('k', () => 'v')).toBe('v')
    expect(keys).toEqual(['k'])
    expect((await warning)[0]).toMatchObject({
      name: 'HerdlessWarning',
      message: expect.stringContaining('of the listener'),
    })
  })

  test('may call the cache', async () => {
    const { a } = fleet()
    a.on('fill', ({ key }) => void (key === 'k' && a.set('seen', key)))
    await a.getOrLoad('k', () => 'v')
    await settled()
    expect(await a.peek('seen')).toMatchObject({ value: 'k' })
  })
})

test.for([
  ['an object that cannot be shown', Object.create(null)],
  ['undefined', undefined],
] as const)('a listener that throws %s does not break a load either', async ([, thrown]) => {
  const { a } = fleet()
  const warned = once(process, 'warning')
  a.on('load', throwing(thrown))
  expect(await a.getOrLoad('k', () => 'v')).toBe('v')
  expect(await warned).toMatchObject([{ name: 'HerdlessWarning' }])
})
