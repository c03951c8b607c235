import { describe, expect, test } from 'vitest'
import { settled } from '../../support/fake-clock.ts'
import { allAsked, answerOf, answersOf, asked, pending, valued } from '../support/answer.ts'
import { fleet, told } from '../support/fleet.ts'
import { allLoading, loading } from '../support/source.ts'

const gotNew = valued('new')

describe('once an invalidation has resolved', () => {
  test('no call and no peek, here or in another process, gets the old value, however soon it comes (rule 4)', async () => {
    const { a, b, c } = fleet()
    await a.getOrLoad('k', () => 'old')
    await a.peek('k')
    expect(await c.getOrLoad('k', () => 'wrong')).toBe('old')
    await a.invalidate('k')
    expect(await a.peek('k')).toEqual({ state: 'missing' })
    expect(await a.getOrLoad('k', () => 'new')).toBe('new')
    await b.invalidate('k')
    expect(await c.getOrLoad('k', () => 'newer')).toBe('newer')
    expect(await a.getOrLoad('k', () => 'wrong')).toBe('newer')
  })

  test('no call shares a read that was sent before (rule 4)', async () => {
    const { a, b, ways } = fleet()
    await a.getOrLoad('k', () => 'old')
    const letGo = ways.a.hold('read', 'after')
    const before = await asked(a.getOrLoad('k', () => 'wrong'))
    await b.invalidate('k')
    const after = await asked(a.getOrLoad('k', () => 'new'))
    letGo()
    await settled()
    expect(before).toEqual(valued('old'))
    expect(after).toEqual(gotNew)
  })

  test('nobody gets the value of a load that was under way, not even who asked before (rule 2, rule 4)', async () => {
    const { a, all } = fleet()
    const { source, answers: before } = await allLoading(all)
    await a.invalidate('k')
    const after = await allAsked(all.map((cache) => cache.getOrLoad('k', source.loader)))
    await source.resolve(0, 'old')
    expect([...before, ...after]).toEqual(Array.from({ length: 6 }, () => pending))
    expect(source.runs).toHaveLength(2)
    await source.resolve(1, 'new')
    expect([...before, ...after]).toEqual(Array.from({ length: 6 }, () => gotNew))
    expect(source.runs).toHaveLength(2)
  })

  test('by another process, callers who join the load that it voided wait for the next one (rule 4)', async () => {
    const { a, b } = fleet()
    const { source } = await loading(a)
    await b.invalidate('k')
    const after = answersOf([a.getOrLoad('k', source.loader), b.getOrLoad('k', source.loader)])
    await source.resolve(0, 'old')
    expect(after).toEqual([pending, pending])
    await source.resolve(1, 'new')
    expect(after).toEqual([gotNew, gotNew])
  })

  test('a load whose lease it voided on the way to the holder is of no use (rule 2, rule 4)', async () => {
    const { a, b, ways } = fleet()
    const letGo = ways.a.hold('claim', 'after')
    const { source, answer: before } = await loading(a)
    await b.invalidate('k')
    const after = await asked(a.getOrLoad('k', source.loader))
    letGo()
    await settled()
    await source.resolve(0, 'old')
    await source.resolve(1, 'new')
    expect([before, after]).toEqual([gotNew, gotNew])
  })

  test('the value that is on its way to the store does not arrive (rule 2, rule 4)', async () => {
    const { a, b, ways } = fleet()
    const letGo = ways.a.hold('fill', 'before')
    const { source, answer: before } = await loading(a)
    await source.resolve(0, 'old')
    expect(before).toEqual(pending)
    await b.invalidate('k')
    const after = await asked(a.getOrLoad('k', source.loader))
    letGo()
    await settled()
    expect([before, after]).toEqual([pending, pending])
    await source.resolve(1, 'new')
    expect([before, after]).toEqual([gotNew, gotNew])
    expect(await b.peek('k')).toMatchObject({ value: 'new' })
  })

  test('a caller does not get the value whose acceptance is still on its way back (rule 4)', async () => {
    const { a, b, ways } = fleet()
    const letGo = ways.a.hold('fill', 'after')
    const { source, answer: before } = await loading(a)
    await source.resolve(0, 'old')
    await b.invalidate('k')
    const after = await asked(a.getOrLoad('k', source.loader))
    letGo()
    await settled()
    expect(before).toEqual(valued('old'))
    expect(after).toEqual(pending)
    await source.resolve(1, 'new')
    expect(after).toEqual(gotNew)
  })

  test('a caller does not get the claim of a value that was found before (rule 4)', async () => {
    const { a, b, ways } = fleet()
    const letGoRead = ways.a.hold('read', 'after')
    const { source, answer: before } = await loading(a)
    await b.set('k', 'old')
    const letGoClaim = ways.a.hold('claim', 'after')
    letGoRead()
    await settled()
    await b.invalidate('k')
    const after = await asked(a.getOrLoad('k', source.loader))
    letGoClaim()
    await settled()
    expect(before).toEqual(valued('old'))
    expect(after).toEqual(pending)
    await source.resolve(0, 'new')
    expect(after).toEqual(gotNew)
  })

  test('a caller does not get the message about a value that was filled before (rule 4)', async () => {
    const { a, b, c, ways } = fleet()
    const letGo = ways.b.holdMessages()
    const { source } = await loading(a)
    const before = await asked(b.getOrLoad('k', source.loader))
    await source.resolve(0, 'old')
    await c.invalidate('k')
    const after = await asked(b.getOrLoad('k', source.loader))
    letGo()
    await settled()
    expect(before).toEqual(valued('old'))
    expect(after).toEqual(pending)
    await source.resolve(1, 'new')
    expect(after).toEqual(gotNew)
  })

  test('of this process while it waits for another, callers who come then get no old answer (rule 4)', async () => {
    const { a, b, c, ways } = fleet()
    const { source } = await loading(a)
    ways.b.messages = 'lost'
    const before = await asked(b.getOrLoad('k', source.loader))
    await source.resolve(0, 'old')
    await c.invalidate('k')
    expect(await asked(b.getOrLoad('k', source.loader))).toEqual(pending)
    expect(before).toEqual(pending)
  })

  test('the loader of the load it voided is told by its signal (rule 3)', async () => {
    const { a, b } = fleet()
    const { source } = await loading(a)
    const { signal } = source.run(0).context
    expect(signal.aborted).toBe(false)
    await b.invalidate('k')
    await settled()
    expect(signal.aborted).toBe(true)
    expect(signal.reason).toMatchObject({ name: 'CacheError', code: 'LEASE_LOST', key: 'k' })
  })

  test('a loader that cannot be told learns of it with the next renewal (rule 3)', async () => {
    const { a, b, ways, clock } = fleet({ leaseTtl: '9s' })
    ways.a.messages = 'lost'
    const { source } = await loading(a)
    await b.invalidate('k')
    await clock.advance(2_999)
    expect(source.run(0).context.signal.aborted).toBe(false)
    await clock.advance(1)
    expect(source.run(0).context.signal.reason).toMatchObject({ code: 'LEASE_LOST' })
  })

  test('by this process, callers do not wait for the end of the load that it voided, though nobody is told', async () => {
    const { a, ways } = fleet()
    ways.a.messages = 'never promised'
    const { source } = await loading(a)
    await a.invalidate('k')
    const after = await asked(a.getOrLoad('k', source.loader))
    await source.resolve(1, 'new')
    expect(after).toEqual(gotNew)
  })

  test('of one key, loads of others go on', async () => {
    const { a, source } = fleet()
    const other = await asked(a.getOrLoad('other', source.loader))
    await a.invalidate('k')
    await source.resolve(0, 'v')
    expect(other).toEqual(valued('v'))
  })
})

describe('once a set has resolved', () => {
  test('everybody gets its value, those who waited for the load it voided too (rule 4)', async () => {
    const { a, b, all } = fleet()
    const { source, answers: before } = await allLoading(all)
    await b.set('k', 'new')
    const after = await allAsked(all.map((cache) => cache.getOrLoad('k', source.loader)))
    await source.resolve(0, 'old')
    expect([...before, ...after]).toEqual(Array.from({ length: 6 }, () => gotNew))
    expect(source.runs).toHaveLength(1)
    expect(source.run(0).context.signal.reason).toMatchObject({ code: 'LEASE_LOST' })
    expect(await a.peek('k')).toMatchObject({ value: 'new' })
  })

  test('no call gets the value before it, however soon it comes (rule 4)', async () => {
    const { a } = fleet()
    await a.set('k', 'old')
    expect(await a.getOrLoad('k', () => 'wrong')).toBe('old')
    await a.set('k', 'new')
    expect(await a.getOrLoad('k', () => 'wrong')).toBe('new')
  })

  test('the value lives as long as the call says, and is stale after that', async () => {
    const { a, clock } = fleet({ grace: '1m' })
    await a.set('k', 'v', { ttl: '2s', grace: '3s' })
    await clock.advance(1_999)
    expect(await a.peek('k')).toMatchObject({ state: 'fresh' })
    await clock.advance(1)
    expect(await a.peek('k')).toMatchObject({ state: 'stale' })
    await clock.advance(3_000)
    expect(await a.peek('k')).toEqual({ state: 'missing' })
  })

  test('what was given may change without changing the value', async () => {
    const { a } = fleet()
    const given = { list: [1] }
    await a.set('k', given)
    given.list.push(2)
    expect(await a.getOrLoad('k', () => ({ list: [9] }))).toEqual({ list: [1] })
  })
})

describe('a load that lost its lease', () => {
  test('writes nothing and answers nobody: its callers get what the next one brings (rule 2)', async () => {
    const { a, b, ways, clock } = fleet({ leaseTtl: '6s' })
    const { source, answer: mine } = await loading(a)
    const letGo = ways.a.hold('renew', 'before')
    const theirs = answerOf(b.getOrLoad('k', source.loader))
    // The pause of the next load, and the deadline of the look at its lease.
    await clock.advance(7_000)
    expect(source.runs).toHaveLength(2)
    expect(source.run(0).context.signal.reason).toMatchObject({ code: 'LEASE_LOST' })
    letGo()
    await source.resolve(0, 'old')
    expect([mine, theirs]).toEqual([pending, pending])
    expect(await b.peek('k')).toEqual({ state: 'missing' })
    await source.resolve(1, 'new')
    expect([mine, theirs]).toEqual([gotNew, gotNew])
  })

  test('because its process was blocked does not write over what another brought meanwhile (rule 2)', async () => {
    const { a, b, clock } = fleet({ leaseTtl: '6s' })
    const { source, answer: mine } = await loading(a)
    // Time passes for the others while this process does not even see that it does.
    const blocked = clock.block(6_001)
    const theirs = b.getOrLoad('k', () => 'new')
    source.run(0).resolve('old')
    await blocked
    expect(await theirs).toBe('new')
    await settled()
    expect(mine).toEqual(gotNew)
    expect(await b.peek('k')).toMatchObject({ value: 'new' })
  })

  test('is tried again a bounded number of times, then each process loads for itself (rule 2)', async () => {
    const { a, b, clock } = fleet()
    const loads = told(a, 'load')
    const { source, answer } = await loading(a)
    for (let round = 0; source.runs.length === round + 1 && round < 20; round++) {
      await b.invalidate('k')
      // There is a pause between the rounds, and the last load waits for those that were voided.
      await clock.advance(600)
    }
    expect(loads.map(({ leased }) => leased)).toEqual([true, true, true, true, true, false])
    for (const run of source.runs) run.resolve(run === source.runs.at(-1) ? 'new' : 'old')
    await settled()
    expect(answer).toEqual(gotNew)
    expect(await b.peek('k')).toEqual({ state: 'missing' })
  })

  test('is what the events `lost` and `refused` tell of', async () => {
    const { a, b, ways, clock } = fleet()
    const heard: unknown[] = []
    a.on('lost', ({ key, error }) => heard.push(['lost', key, error.code]))
    a.on('refused', ({ key }) => heard.push(['refused', key]))
    const { source } = await loading(a)
    await b.invalidate('k')
    await settled()
    expect(heard).toEqual([['lost', 'k', 'LEASE_LOST']])
    // The next load waits for this one, though not for long: it does not look at its signal.
    await clock.advance(250)
    const letGo = ways.a.hold('fill', 'before')
    await source.resolve(1, 'old')
    await b.invalidate('k')
    letGo()
    await settled()
    expect(heard).toEqual([
      ['lost', 'k', 'LEASE_LOST'],
      ['refused', 'k'],
    ])
  })
})
