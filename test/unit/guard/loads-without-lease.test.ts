import { describe, expect, test } from 'vitest'
import type { CacheOptions } from '../../../src/index.ts'
import { settled } from '../../support/fake-clock.ts'
import { asked, pending, valued, type Answer } from '../support/answer.ts'
import { fleet, told } from '../support/fleet.ts'

/** A cache without its store that bridges nothing, whose loads run until the test ends them, each with its name for a value. */
function leaseless(options: CacheOptions = {}) {
  const { a, ways, clock } = fleet({ commandTimeout: 500, bridge: 0, warnings: false, ...options })
  ways.a.mode = 'failing'
  const began: string[] = []
  const running = new Map<string, () => void>()
  const load = (name: string) => (): Promise<string> =>
    new Promise((resolve) => {
      began.push(name)
      running.set(name, () => (running.delete(name), resolve(name)))
    })
  const ask = (key: string, name: string, signal?: AbortSignal): Promise<Answer<unknown>> =>
    asked(a.getOrLoad(key, load(name), { signal }))
  /** A caller that is itself a loader, of a key of its own. */
  const askNested = (key: string, name: string): Promise<Answer<unknown>> =>
    asked(a.getOrLoad(`for ${name}`, () => a.getOrLoad(key, load(name))))
  const end = async (name: string): Promise<void> => {
    const finish = running.get(name)
    if (finish === undefined) throw new Error(`Expected ${name} to run`)
    finish()
    await settled()
  }
  return { a, ways, clock, began, running, load, ask, askNested, end }
}

/** Callers who can leave. */
function leaving(count: number): AbortController[] {
  return Array.from({ length: count }, () => new AbortController())
}

describe('loads without a lease', () => {
  test('are never joined by a caller who asked after they began, but by all who ask before (rules 4 and 12)', async () => {
    const { ask, end, began } = leaseless()
    const answers = [await ask('k', 'first'), await ask('k', 'second'), await ask('k', 'third')]
    expect(began).toEqual(['first'])
    await end('first')
    expect(answers).toEqual([valued('first'), pending, pending])
    expect(began).toEqual(['first', 'second'])
    await end('second')
    expect(answers).toEqual([valued('first'), valued('second'), valued('second')])
    await ask('k', 'anew')
    expect(began).toEqual(['first', 'second', 'anew'])
  })

  test('may be joined by a caller who asked before they began, and comes late', async () => {
    const { a, ways, load, ask, end, began } = leaseless()
    ways.a.mode = 'answering'
    const letGo = ways.a.hold('read', 'before')
    const late = await ask('k', 'late')
    ways.a.mode = 'failing'
    const first = await asked(a.refresh('k', load('first')))
    letGo()
    await settled()
    expect(late).toEqual(pending)
    await end('first')
    expect([first, late]).toEqual([valued('first'), valued('first')])
    expect(began).toEqual(['first'])
  })

  test('begin at the latest when the timeout of the one behind is over', async () => {
    const { ask, end, clock, began } = leaseless()
    const [first, second] = [await ask('k', 'first'), await ask('k', 'second')]
    await clock.advance(499)
    expect(began).toEqual(['first'])
    await clock.advance(1)
    expect(began).toEqual(['first', 'second'])
    await end('second')
    expect([first, second]).toEqual([pending, valued('second')])
    await end('first')
    expect(first).toEqual(valued('first'))
    await clock.advance(60_000)
    expect([clock.pending, began.length]).toEqual([0, 2])
  })

  test('of one key are two at a time at most, however long they take and often it is invalidated', async () => {
    const { a, ask, clock, running } = leaseless()
    for (let count = 0; count < 20; count++) {
      await ask('k', `load ${count}`)
      await clock.advance(100)
      await expect(a.invalidate('k')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
      expect(running.size).toBe(count < 5 ? 1 : 2)
    }
  })

  test('that nobody waits for any more are not begun', async () => {
    const { ask, end, clock, began } = leaseless()
    const callers = leaving(2)
    await ask('k', 'first')
    for (const { signal } of callers) await ask('k', 'second', signal)
    for (const caller of callers) caller.abort()
    await end('first')
    await clock.advance(60_000)
    expect([began, clock.pending]).toEqual([['first'], 0])
    await ask('k', 'third')
    expect(began).toEqual(['first', 'third'])
  })

  test('that somebody still waits for are begun, though the one whose loader it is has left', async () => {
    const { ask, end } = leaseless()
    const [caller] = leaving(1)
    await ask('k', 'first')
    await ask('k', 'second', caller?.signal)
    const other = await ask('k', 'second, too')
    caller?.abort()
    await end('first')
    await end('second')
    expect(other).toEqual(valued('second'))
  })

  test('that have begun go on, though all who waited have left', async () => {
    const { ask, end, began } = leaseless()
    const [caller] = leaving(1)
    await ask('k', 'first', caller?.signal)
    caller?.abort()
    const second = await ask('k', 'second')
    expect(began).toEqual(['first'])
    await end('first')
    await end('second')
    expect(second).toEqual(valued('second'))
  })
})

describe('the queue of loads without a lease', () => {
  test('lets a few run at once, and the others in their order, without those who have left it (rule 12)', async () => {
    const { ask, end, began } = leaseless({ maxConcurrentLoads: 2 })
    const [caller] = leaving(1)
    const answers = []
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      answers.push(await ask(name, name, name === 'c' ? caller?.signal : undefined))
    }
    expect(began).toEqual(['a', 'b'])
    caller?.abort()
    await end('b')
    expect(began).toEqual(['a', 'b', 'd'])
    await end('a')
    expect(began).toEqual(['a', 'b', 'd', 'e'])
    await end('d')
    await end('e')
    expect(answers.toSpliced(2, 1)).toEqual(['a', 'b', 'd', 'e'].map(valued))
    for (const name of ['f', 'g', 'h']) await ask(name, name)
    expect(began.slice(4)).toEqual(['f', 'g'])
  })

  test('comes before the next load of the key whose load has ended', async () => {
    const { ask, end, began } = leaseless({ maxConcurrentLoads: 1 })
    await ask('k', 'first')
    await ask('k', 'second')
    await ask('l', 'queued')
    await end('first')
    await end('queued')
    expect(began).toEqual(['first', 'queued', 'second'])
  })

  test('may be joined while a load waits there for its turn, for it has not begun', async () => {
    const { ask, end, began } = leaseless({ maxConcurrentLoads: 1 })
    await ask('first', 'first')
    const queued = [await ask('k', 'queued'), await ask('k', 'queued, later')]
    await end('first')
    expect(began).toEqual(['first', 'queued'])
    await end('queued')
    expect(queued).toEqual([valued('queued'), valued('queued')])
  })

  test('is passed by a load that a loader waits for (rule 9)', async () => {
    const { a, load, ask, end, began } = leaseless({ maxConcurrentLoads: 1 })
    const outer = await asked(
      a.getOrLoad('outer', async () => [await a.getOrLoad('inner', load('inner')), await load('rest of outer')()]),
    )
    const next = await ask('next', 'next')
    expect(began).toEqual(['inner'])
    await end('inner')
    expect([next, began]).toEqual([pending, ['inner', 'rest of outer']])
    await end('rest of outer')
    expect(outer).toEqual(valued(['inner', 'rest of outer']))
    expect(began).toEqual(['inner', 'rest of outer', 'next'])
  })

  test('collapses loads for loaders, too, who wait for the one that runs as long as others would (rules 9 and 12)', async () => {
    const { askNested, end, began } = leaseless()
    await askNested('k', 'first')
    const answers = [await askNested('k', 'second'), await askNested('k', 'third'), await askNested('k', 'fourth')]
    expect(began).toEqual(['first'])
    await end('first')
    expect(began).toEqual(['first', 'second'])
    await end('second')
    expect(answers).toEqual([valued('second'), valued('second'), valued('second')])
  })

  test('does not let a loader wait for two loads that run on: it could be what they wait for (rule 9)', async () => {
    const { ask, askNested, end, clock, began } = leaseless()
    await ask('k', 'first')
    await askNested('k', 'second')
    await clock.advance(500)
    expect(began).toEqual(['first', 'second'])
    const third = await askNested('k', 'third')
    await clock.advance(499)
    expect(began).toEqual(['first', 'second'])
    await clock.advance(1)
    expect(began).toEqual(['first', 'second', 'third'])
    await end('third')
    expect(third).toEqual(valued('third'))
  })

  test('begins a third load as soon as a loader waits for it, too, and two at most when that is over (rule 9)', async () => {
    const { ask, askNested, end, clock, began } = leaseless()
    for (const name of ['first', 'second', 'third']) {
      await ask('k', name)
      await clock.advance(500)
    }
    expect(began).toEqual(['first', 'second'])
    await askNested('k', 'nested')
    expect(began).toEqual(['first', 'second', 'third'])
    await ask('k', 'fourth')
    await clock.advance(500)
    await end('first')
    expect(began).toEqual(['first', 'second', 'third'])
    await end('second')
    expect(began).toEqual(['first', 'second', 'third', 'fourth'])
  })

  test('does not hold up a loader that waits for a load which is queued behind it (rule 9)', async () => {
    const { a, load, ask, end, running } = leaseless({ maxConcurrentLoads: 1 })
    const outer = async (): Promise<string> => {
      await load('outer')()
      return a.getOrLoad('inner', load('nested'))
    }
    const answers = [await asked(a.getOrLoad('outer', outer)), await ask('inner', 'queued')]
    expect([...running.keys()]).toEqual(['outer'])
    await end('outer')
    for (const name of running.keys()) await end(name)
    expect(answers).toMatchObject([{ state: 'value' }, { state: 'value' }])
  })

  test('refuses those who find it full at once, and not those who join a load in it (rule 12)', async () => {
    const { a, ask, end, began } = leaseless({ maxConcurrentLoads: 1, maxQueuedLoads: 2 })
    const refused = told(a, 'overloaded')
    const answers = [await ask('a', 'a'), await ask('b', 'b'), await ask('c', 'c'), await ask('c', 'c as well')]
    const late = [await ask('d', 'd'), await ask('d', 'd as well')]
    const overloaded = { state: 'error', error: { code: 'OVERLOADED', key: 'd' } }
    expect(late).toMatchObject([overloaded, overloaded])
    expect(refused).toEqual([
      { key: 'd', queued: 2 },
      { key: 'd', queued: 2 },
    ])
    for (const name of ['a', 'b', 'c']) await end(name)
    expect(answers).toEqual(['a', 'b', 'c', 'c'].map(valued))
    await ask('d', 'd once more')
    expect(began).toEqual(['a', 'b', 'c', 'd once more'])
  })

  test('never refuses a load that a loader waits for', async () => {
    const { a, ask, load, began } = leaseless({ maxConcurrentLoads: 1, maxQueuedLoads: 0 })
    const outer = await asked(a.getOrLoad('a', () => a.getOrLoad('nested', load('nested'))))
    expect(await ask('b', 'b')).toMatchObject({ error: { code: 'OVERLOADED' } })
    expect([outer, began]).toEqual([pending, ['nested']])
  })
})
