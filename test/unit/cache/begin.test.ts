import { describe, expect, test } from 'vitest'
import { createCache, type Begun, type Cache, type CallOptions, type Lead } from '../../../src/index.ts'
import { settled } from '../../support/fake-clock.ts'
import { allAsked, answerOf, answersOf, asked, pending, valued, type Answer } from '../support/answer.ts'
import { fleet, told } from '../support/fleet.ts'
import { loading } from '../support/source.ts'

/** Begins a load that the cache is to lead. */
async function lead(cache: Cache, options?: CallOptions, key = 'k'): Promise<Lead<string>> {
  const begun = await cache.begin<string>(key, options)
  if (begun.state !== 'lead') throw new Error(`Expected the lead, got ${JSON.stringify(begun)}`)
  return begun
}

/** What several callers of each cache are answered. */
function begun(caches: readonly Cache[], each = 2): Promise<Answer<Begun<string>>[]> {
  return allAsked(caches.flatMap((cache) => Array.from({ length: each }, () => cache.begin<string>('k'))))
}

function isLead(answer: Answer<Begun<string>>): boolean {
  return answer.state === 'value' && answer.value.state === 'lead'
}

function leadersOf(answers: readonly Answer<Begun<string>>[]): Lead<string>[] {
  return answers.flatMap((answer) => (answer.state === 'value' && answer.value.state === 'lead' ? [answer.value] : []))
}

const loaded = valued(expect.objectContaining({ state: 'loaded', value: 'v', age: 0 }))

describe('a load in two halves', () => {
  test('has one leader in the fleet; all others wait and are given what it fills', async () => {
    const { a, all, clock } = fleet()
    const answers = await begun(all)
    const loading = answerOf(a.getOrLoad('k', () => 'of nobody'))
    expect(answers.filter(isLead)).toHaveLength(1)
    expect(answers.filter(({ state }) => state === 'pending')).toHaveLength(5)
    const [leader] = leadersOf(answers)
    expect(leader).toMatchObject({ state: 'lead', key: 'k', stale: null })
    expect(leader?.fence).toBeGreaterThan(0n)
    expect(await leader?.fill('v', { ttl: '5m', tags: ['t'] })).toBe('stored')
    await clock.advance(400)
    expect(answers.slice(1)).toEqual(Array(5).fill(loaded))
    expect(loading).toEqual(valued('v'))
    const found = await asked(a.begin('k'))
    expect(found).toEqual(valued({ state: 'fresh', value: 'v', age: 400, ttl: 299_600, tags: ['t'] }))
  })

  test('that fails gives its error to all who wait, and to those who ask soon after', async () => {
    const { a, b, clock } = fleet()
    const leader = await lead(a)
    const others = await begun([a, b], 1)
    await leader.fail(new Error('down'))
    await clock.advance(400)
    for (const answer of others) expect(answer).toMatchObject({ state: 'error', error: { message: 'down' } })
    expect(await asked(b.begin('k'))).toMatchObject({ error: { message: 'down' } })
  })

  test('that is skipped lets everybody lead, and for a second nobody waits', async () => {
    const { a, b, clock } = fleet()
    const leader = await lead(a)
    const others = await begun([a, b], 1)
    leader.skip()
    await clock.advance(400)
    expect(others.map(isLead)).toEqual([true, true])
    expect((await begun([a, b])).map(isLead)).toEqual(Array(4).fill(true))
    expect(() => leader.skip('soon' as never)).not.toThrow()
  })

  test('counts the first call of its leader: later ones do nothing, so that `skip` may stand in a `finally`', async () => {
    const { a, b } = fleet()
    const leader = await lead(a)
    const filling = leader.fill('v')
    leader.skip()
    await leader.fail(new Error('late'))
    expect(await leader.fill('w')).toBe('over')
    expect(await filling).toBe('stored')
    expect(await b.peek('k')).toMatchObject({ value: 'v' })
  })

  test('goes on after a wrong option, which is a TypeError', async () => {
    const { a } = fleet()
    const leader = await lead(a)
    await expect(leader.fill('v', { tll: 1 } as never)).rejects.toThrow(
      'Unknown option `tll` of fill (did you mean `ttl`?)',
    )
    await expect(leader.fill('v', { ttl: -1 })).rejects.toThrow(TypeError)
    expect(() => leader.skip(-1)).toThrow(TypeError)
    await expect(a.begin('l', { tll: 1 } as never)).rejects.toThrow('Unknown option `tll` of begin')
    expect(await leader.fill('v')).toBe('stored')
  })

  test('fails with a value that its schema refuses', async () => {
    const { a, b, clock } = fleet()
    const schema = {
      '~standard': { version: 1, vendor: 'test', validate: () => ({ issues: [{ message: 'no' }] }) },
    } as const
    const begun = await a.begin('k', { schema })
    const other = answerOf(b.begin('k', { schema }))
    if (begun.state !== 'lead') throw new Error('Expected the lead')
    await expect(begun.fill('v')).rejects.toMatchObject({ code: 'VALUE_INVALID' })
    await clock.advance(400)
    expect(other).toMatchObject({ error: { code: 'VALUE_INVALID' } })
  })
})

describe('a leader that never calls', () => {
  test('is skipped after its hard timeout: nobody queues behind it, and the failure is reported', async () => {
    const { a, b, clock } = fleet({ hardTimeout: '2s' })
    const failures = told(a, 'failure')
    const leader = await lead(a)
    const others = await begun([a, b])
    await clock.advance(1_999)
    expect([leader.signal.aborted, ...others]).toEqual([false, ...Array(4).fill(pending)])
    await clock.advance(400)
    expect(others.map(isLead)).toEqual(Array(4).fill(true))
    expect(leader.signal.reason).toMatchObject({ code: 'LOAD_TIMEOUT' })
    expect(failures).toMatchObject([{ key: 'k', error: { code: 'LOAD_TIMEOUT' }, duration: 2_000 }])
    expect(await leader.fill('late')).toBe('over')
    expect(await b.peek('k')).toEqual({ state: 'missing' })
  })

  test('holds up `close` no longer than a loader does, and its lease goes to another', async () => {
    const { a, b, clock } = fleet()
    const leader = await lead(a)
    const other = answerOf(b.begin<string>('k'))
    const closing = answerOf(a.close({ timeout: '1s' }))
    await clock.advance(999)
    expect([closing, other]).toEqual([pending, pending])
    await clock.advance(400)
    expect(closing).toEqual(valued(undefined))
    expect(isLead(other)).toBe(true)
    expect(leader.signal.reason).toMatchObject({ code: 'CLOSED' })
    expect(await leader.fill('v')).toBe('over')
    await expect(a.begin('k')).rejects.toMatchObject({ code: 'CLOSED' })
  })
})

describe('an invalidation between the halves', () => {
  test.for(['key', 'tag'] as const)('of the %s voids the late value, and its leader is told', async (by) => {
    const { a, b, c, clock } = fleet()
    const leader = await lead(a, { tags: ['t'] })
    const before = await asked(b.begin<string>('k', { tags: ['t'] }))
    await (by === 'key' ? c.invalidate('k') : c.invalidateTags(['t']))
    const after = answerOf(c.begin<string>('k', { tags: ['t'] }))
    // Of a tag a leader learns only from its fill.
    if (by === 'key') await clock.advance(400)
    expect(await leader.fill('old')).toBe('voided')
    await clock.advance(1_000)
    expect(leader.signal.aborted).toBe(by === 'key')
    // One of the two leads; the other waits for it.
    const leaders = leadersOf([before, after])
    expect(leaders).toHaveLength(1)
    expect(await leaders[0]?.fill('new')).toBe('stored')
    expect(await a.peek('k')).toMatchObject({ value: 'new' })
  })

  test('costs its leader no second lead: it is told once, and asks again itself', async () => {
    const { a, clock } = fleet()
    const leader = await lead(a)
    await a.invalidate('k')
    await clock.advance(1_000)
    expect(await leader.fill('old')).toBe('voided')
    // Nobody holds the lease.
    const next = await lead(a)
    expect(await next.fill('new')).toBe('stored')
  })
})

describe('a stale value', () => {
  async function stale(options: CallOptions = {}): Promise<ReturnType<typeof fleet>> {
    const its = fleet({ ttl: '1s', grace: '1h', ...options })
    await its.a.set('k', 'old')
    await its.clock.advance(1_500)
    return its
  }

  test('is given to all but one, who leads the refresh and has it, too', async () => {
    const { all, a, clock } = await stale()
    const answers = await begun(all)
    await clock.advance(1)
    const leaders = leadersOf(answers)
    expect(leaders).toHaveLength(1)
    const others = answers.filter((answer) => !isLead(answer))
    const old = expect.objectContaining({ state: 'stale', value: 'old', ttl: 0 })
    expect(others).toEqual(Array(5).fill(valued(old)))
    expect(leaders[0]?.stale).toMatchObject({ value: 'old', age: 1_500 })
    expect(await leaders[0]?.fill('new')).toBe('stored')
    expect(await asked(a.begin('k'))).toMatchObject({ value: { state: 'fresh', value: 'new' } })
  })

  test('stays if the refresh fails, and nobody leads while the source rests', async () => {
    const { a, b, clock } = await stale()
    const leader = await lead(a)
    await leader.fail(new Error('down'))
    const old = valued(expect.objectContaining({ state: 'stale', value: 'old' }))
    expect(await begun([a, b])).toEqual(Array(4).fill(old))
    await clock.advance(1_001)
    expect((await begun([a, b])).filter(isLead)).toHaveLength(1)
  })

  test('is not refreshed ahead of its end', async () => {
    const { a, clock } = fleet({ ttl: '10s', refreshAhead: 0.5 })
    await a.set('k', 'v')
    await clock.advance(6_000)
    expect(await asked(a.begin('k'))).toMatchObject({ value: { state: 'fresh', value: 'v' } })
    expect(a.stats()).toMatchObject({ loads: 0 })
  })

  test('is waited for within the soft timeout', async () => {
    const { a, b, clock } = await stale({ softTimeout: 100 })
    const leader = await lead(a)
    const [other] = await begun([b], 1)
    expect(other).toEqual(pending)
    await clock.advance(100)
    expect(other).toMatchObject({ value: { state: 'stale', value: 'old' } })
    expect(await leader.fill('new')).toBe('stored')
  })
})

describe('a caller that leaves', () => {
  test('before it leads leaves the lead to another', async () => {
    const { a, b, ways, clock } = fleet()
    const release = ways.a.hold('claim', 'after')
    const controller = new AbortController()
    const gone = answerOf(a.begin<string>('k', { signal: controller.signal }))
    const here = answerOf(a.begin<string>('k'))
    await clock.advance(1)
    controller.abort(new Error('gone'))
    release()
    await clock.advance(1)
    expect(gone).toMatchObject({ error: { message: 'gone' } })
    expect(isLead(here)).toBe(true)
    expect(await asked(b.begin('k'))).toEqual(pending)
  })

  test('once it leads still leads', async () => {
    const { a, b, clock } = fleet()
    const controller = new AbortController()
    const leader = await lead(a, { signal: controller.signal })
    const other = await asked(b.begin<string>('k'))
    controller.abort(new Error('gone'))
    expect(await leader.fill('v')).toBe('stored')
    await clock.advance(400)
    expect(other).toEqual(loaded)
  })
})

describe('without the store', () => {
  test('one caller of each process leads, and the others are given its value, which is not stored', async () => {
    const { a, ways, clock } = fleet()
    ways.a.mode = 'failing'
    const answers = await begun([a], 3)
    await clock.advance(10)
    expect(answers.map(isLead)).toEqual([true, false, false])
    const [leader] = leadersOf(answers)
    expect(leader?.fence).toBe(null)
    expect(await leader?.fill('v')).toBe('unstored')
    await settled()
    expect(answers.slice(1)).toEqual(Array(2).fill(valued(expect.objectContaining({ value: 'v' }))))
  })

  test('a leader whose store goes away is told that its value is not stored', async () => {
    const { a, ways, clock } = fleet({ leaseTtl: '1s' })
    const answers = await begun([a], 2)
    const [leader] = leadersOf(answers)
    ways.a.mode = 'silent'
    await clock.advance(3_000)
    expect(await leader?.fill('v')).toBe('unstored')
    await settled()
    expect(answers[1]).toMatchObject({ value: { value: 'v' } })
  })

  test('a leader that never calls then still ends', async () => {
    const { a, ways, clock } = fleet({ leaseTtl: '1s', hardTimeout: '5s' })
    const leader = await lead(a)
    ways.a.mode = 'silent'
    await clock.advance(6_000)
    expect(await leader.fill('v')).not.toBe('stored')
    expect(clock.holding).toBe(0)
  })
})

test.for([
  ['until it calls', 'nothing'],
  ['until it calls, though its load was voided', 'invalidate'],
])('a source with one place is held by the leader %s', async ([, what]) => {
  const { a, b, clock, source } = fleet({ sources: { db: { concurrency: 1 } }, source: 'db' })
  const leader = await lead(a)
  if (what === 'invalidate') await b.invalidate('k')
  const other = answerOf(b.getOrLoad('l', source.loader))
  await clock.advance(400)
  expect(source.runs).toHaveLength(0)
  leader.skip()
  await clock.advance(400)
  expect(source.runs).toHaveLength(1)
  expect(other).toEqual(pending)
})

test('a leader of a refresh does not wait for its source: it is given the stale value, and later another leads', async () => {
  const { a, b, clock } = fleet({ sources: { db: { concurrency: 1 } }, source: 'db', ttl: '1s', grace: '1h' })
  await a.set('k', 'old')
  await clock.advance(1_500)
  const busy = await lead(b, {}, 'busy')
  const [answer] = answersOf([a.begin('k')])
  const { source, answer: waiting } = await loading(a, { grace: 0 })
  expect(answer).toMatchObject({ value: { state: 'stale', value: 'old' } })
  await clock.advance(1_500)
  expect([waiting, source.runs.length]).toEqual([pending, 0])
  busy.skip()
  await clock.advance(500)
  await source.resolve(0, 'new')
  expect(waiting).toEqual(valued('new'))
})

test('a cache that observes has each caller lead, and stores nothing', async () => {
  const cache = createCache({ mode: 'observe' })
  const answers = await begun([cache], 3)
  const [first, second, third] = leadersOf(answers)
  expect(await first?.fill('v')).toBe('unstored')
  expect(await first?.fill('v')).toBe('over')
  await second?.fail(new Error('down'))
  third?.skip()
  expect(third).toBeDefined()
  expect(await cache.peek('k')).toEqual({ state: 'missing' })
})
