import { describe, expect, test } from 'vitest'
import { plainKind } from '../../../src/core/codec/schema.ts'
import { Events, type CacheEvents } from '../../../src/core/observe/events.ts'
import type { LoadRun } from '../../../src/core/load/loader.ts'
import { causalClock } from '../../../src/core/time/clock.ts'
import { LeaselessQueue } from '../../../src/core/load/leaseless-queue.ts'
import { FakeClock, settled } from '../../support/fake-clock.ts'
import { answerOf } from '../support/answer.ts'

const patience = 500

/** Loads without a lease, each of which goes on until the test ends it. */
function loads(most = 64, mostQueued = 1_000) {
  const events = new Events()
  const refused: CacheEvents['overloaded'][] = []
  events.on('overloaded', (event) => void refused.push(event))
  const clock = new FakeClock()
  const causalNow = causalClock()
  const unleased = new LeaselessQueue({ most, mostQueued, patience, clock, events, causalNow })
  const running = new Map<string, (value: string) => void>()
  const began: string[] = []
  const leave = new Map<string, () => void>()
  const ask = (key: string, name: string, { nested = false, asked = causalNow() } = {}) => {
    const share = unleased.share(key, asked, nested, () => {
      began.push(name)
      return new Promise<LoadRun>((resolve) => {
        running.set(name, (value) => {
          running.delete(name)
          resolve({ state: 'value', value, kind: plainKind, ttl: 1, grace: 0, loadTime: 0, tags: [], validators: null })
        })
      })
    })
    leave.set(name, share.leave)
    return answerOf(share.loaded)
  }
  const end = async (name: string): Promise<void> => {
    const finish = running.get(name)
    if (finish === undefined) throw new Error(`Expected ${name} to run`)
    finish(`value of ${name}`)
    await settled()
  }
  return { clock, causalNow, unleased, running, began, refused, ask, end, leave: (name: string) => leave.get(name)?.() }
}

function valueOf(name: string) {
  return {
    state: 'value',
    value: {
      state: 'value',
      kind: plainKind,
      value: `value of ${name}`,
      ttl: 1,
      grace: 0,
      loadTime: 0,
      tags: [],
      validators: null,
    },
  }
}

const pending = { state: 'pending' }

describe('loads without a lease', () => {
  test('of those who ask together are one (rule 12)', async () => {
    const { ask, end, began, causalNow } = loads()
    const [one, two, three] = [causalNow(), causalNow(), causalNow()]
    const answers = [
      ask('k', 'first', { asked: one }),
      ask('k', 'second', { asked: two }),
      ask('k', 'third', { asked: three }),
    ]
    await settled()
    expect(began).toEqual(['first'])
    await end('first')
    expect(answers).toEqual([valueOf('first'), valueOf('first'), valueOf('first')])
  })

  test('of different keys run side by side', async () => {
    const { ask, began } = loads()
    ask('k', 'k')
    ask('l', 'l')
    await settled()
    expect(began).toEqual(['k', 'l'])
  })

  test('are never joined by a caller who asked after they began (rule 4)', async () => {
    const { ask, end, began } = loads()
    const first = ask('k', 'first')
    await settled()
    const second = ask('k', 'second')
    const third = ask('k', 'third')
    await settled()
    expect(began).toEqual(['first'])
    await end('first')
    expect([first, second, third]).toEqual([valueOf('first'), pending, pending])
    expect(began).toEqual(['first', 'second'])
    await end('second')
    expect([second, third]).toEqual([valueOf('second'), valueOf('second')])
  })

  test('may be joined by a caller who asked before they began, and comes late', async () => {
    const { ask, end, causalNow } = loads()
    const asked = causalNow()
    ask('k', 'first')
    await settled()
    const late = ask('k', 'late', { asked })
    await end('first')
    expect(late).toEqual(valueOf('first'))
  })

  test('begin at the latest when the patience of the one behind has ended', async () => {
    const { ask, end, clock, began } = loads()
    const first = ask('k', 'first')
    await settled()
    const second = ask('k', 'second')
    await clock.advance(patience - 1)
    expect(began).toEqual(['first'])
    await clock.advance(1)
    expect(began).toEqual(['first', 'second'])
    await end('second')
    expect([first, second]).toEqual([pending, valueOf('second')])
    await end('first')
    expect(first).toEqual(valueOf('first'))
    await clock.advance(10 * patience)
    expect(clock.pending).toBe(0)
    expect(began).toEqual(['first', 'second'])
  })

  test('of one key are two at a time at most, however long they take', async () => {
    const { ask, clock, running } = loads()
    for (let count = 0; count < 20; count++) {
      ask('k', `load ${count}`)
      await clock.advance(100)
      expect(running.size).toBeLessThanOrEqual(2)
    }
  })

  test('start anew when all that went before is over', async () => {
    const { ask, end, began } = loads()
    ask('k', 'first')
    await settled()
    await end('first')
    const second = ask('k', 'second')
    await settled()
    expect(began).toEqual(['first', 'second'])
    await end('second')
    expect(second).toEqual(valueOf('second'))
  })

  test('that nobody waits for any more are not begun', async () => {
    const { ask, end, leave, began, clock } = loads()
    ask('k', 'first')
    await settled()
    ask('k', 'second')
    ask('k', 'second, too')
    leave('second')
    leave('second, too')
    await end('first')
    await clock.advance(10 * patience)
    expect(began).toEqual(['first'])
    expect(clock.pending).toBe(0)
    ask('k', 'third')
    await settled()
    expect(began).toEqual(['first', 'third'])
  })

  test('that somebody still waits for are begun, though the one whose loader it is has left', async () => {
    const { ask, end, leave } = loads()
    ask('k', 'first')
    await settled()
    ask('k', 'second')
    const other = ask('k', 'second, too')
    leave('second')
    await end('first')
    await end('second')
    expect(other).toEqual(valueOf('second'))
  })

  test('that have begun go on, though all who waited have left', async () => {
    const { ask, end, leave, began } = loads()
    ask('k', 'first')
    await settled()
    leave('first')
    const second = ask('k', 'second')
    await end('first')
    await end('second')
    expect(began).toEqual(['first', 'second'])
    expect(second).toEqual(valueOf('second'))
  })
})

describe('the queue of loads without a lease', () => {
  test('lets a few run at once, and the others one after the other in their order (rule 12)', async () => {
    const { ask, end, began, running } = loads(2)
    const answers = ['a', 'b', 'c', 'd'].map((name) => ask(name, name))
    await settled()
    expect(began).toEqual(['a', 'b'])
    await end('b')
    expect(began).toEqual(['a', 'b', 'c'])
    await end('a')
    expect(began).toEqual(['a', 'b', 'c', 'd'])
    await end('c')
    await end('d')
    expect(answers).toEqual(['a', 'b', 'c', 'd'].map(valueOf))
    expect(running.size).toBe(0)
  })

  test('has a place free again after each load', async () => {
    const { ask, end, began } = loads(1)
    const names = ['a', 'b', 'c', 'd', 'e']
    for (const name of names) ask(name, name)
    await settled()
    for (const name of names) await end(name)
    ask('k', 'k')
    await settled()
    expect(began).toEqual([...names, 'k'])
  })

  test('is not held up by those who have left it', async () => {
    const { ask, end, leave, began } = loads(1)
    for (const name of ['a', 'b', 'c']) ask(name, name)
    await settled()
    leave('b')
    await end('a')
    expect(began).toEqual(['a', 'c'])
  })

  test('may be joined while it waits for its turn, for it has not begun', async () => {
    const { ask, end, began } = loads(1)
    ask('first', 'first')
    await settled()
    const queued = [ask('k', 'queued'), ask('k', 'queued, too')]
    await settled()
    queued.push(ask('k', 'queued, later'))
    await end('first')
    expect(began).toEqual(['first', 'queued'])
    await end('queued')
    expect(queued).toEqual([valueOf('queued'), valueOf('queued'), valueOf('queued')])
  })

  test('is passed by a load that a loader waits for (rule 9)', async () => {
    const { ask, end, began } = loads(1)
    ask('outer', 'outer')
    await settled()
    const inner = ask('inner', 'inner', { nested: true })
    await settled()
    expect(began).toEqual(['outer', 'inner'])
    await end('inner')
    expect(inner).toEqual(valueOf('inner'))
    const next = ask('next', 'next')
    await settled()
    expect(next).toEqual(pending)
    await end('outer')
    expect(began).toEqual(['outer', 'inner', 'next'])
  })

  test('are collapsed for loaders, too, who wait for the one that runs as long as others would (rules 9 and 12)', async () => {
    const { clock, ask, end, began } = loads()
    ask('k', 'first', { nested: true })
    await settled()
    const answers = ['second', 'third', 'fourth'].map((name) => ask('k', name, { nested: true }))
    await settled()
    expect(began).toEqual(['first'])
    await end('first')
    expect(began).toEqual(['first', 'second'])
    await end('second')
    expect(answers).toEqual([valueOf('second'), valueOf('second'), valueOf('second')])
    expect(clock.pending).toBe(0)
  })

  test('do not let a loader wait for two that run on: it could be what they wait for (rule 9)', async () => {
    const { clock, ask, end, began } = loads(1)
    ask('k', 'first')
    ask('k', 'second', { nested: true })
    await settled()
    await clock.advance(patience)
    expect(began).toEqual(['first', 'second'])
    const third = ask('k', 'third', { nested: true })
    await clock.advance(patience - 1)
    expect(began).toEqual(['first', 'second'])
    await clock.advance(1)
    expect(began).toEqual(['first', 'second', 'third'])
    await end('third')
    expect(third).toEqual(valueOf('third'))
  })

  test('does not hold up a loader that waits for a load which is queued behind it (rule 9)', async () => {
    const { ask, end, running } = loads(1)
    ask('outer', 'outer')
    await settled()
    const queued = ask('inner', 'queued')
    await settled()
    const inner = ask('inner', 'inner', { nested: true })
    await settled()
    expect([...running.keys()]).toHaveLength(2)
    await end([...running.keys()].find((name) => name !== 'outer') as string)
    expect(inner).toMatchObject({ state: 'value' })
    await end('outer')
    if (running.has('queued')) await end('queued')
    expect(queued).toMatchObject({ state: 'value' })
  })

  test('that find the queue full are refused at once, and those who join one in the queue are not (rule 12)', async () => {
    const { ask, end, began, refused } = loads(1, 2)
    const runs = ask('a', 'a')
    const queued = [ask('b', 'b'), ask('c', 'c'), ask('c', 'c as well')]
    const late = [ask('d', 'd'), ask('d', 'd as well')]
    await settled()
    const overloaded = {
      state: 'value',
      value: {
        state: 'failed',
        error: expect.objectContaining({ code: 'OVERLOADED', key: 'd' }) as unknown,
        cooldown: 0,
        tags: [],
      },
    }
    expect(late).toEqual([overloaded, overloaded])
    expect(refused).toEqual([
      { key: 'd', queued: 2 },
      { key: 'd', queued: 2 },
    ])
    expect([runs, ...queued]).toEqual([pending, pending, pending, pending])
    for (const name of ['a', 'b', 'c']) await end(name)
    expect([runs, ...queued]).toEqual([valueOf('a'), valueOf('b'), valueOf('c'), valueOf('c')])
    const after = ask('d', 'd once more')
    await settled()
    await end('d once more')
    expect(after).toEqual(valueOf('d once more'))
    expect(began).toEqual(['a', 'b', 'c', 'd once more'])
  })

  test('of a caller that is itself a loader are never refused', async () => {
    const { ask, began } = loads(1, 0)
    ask('a', 'a')
    ask('b', 'b')
    ask('c', 'c', { nested: true })
    await settled()
    expect(began).toEqual(['a', 'c'])
  })
})
