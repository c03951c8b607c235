import { describe, expect, test } from 'vitest'
import type { Loader } from '../../../src/index.ts'
import { settled } from '../../support/fake-clock.ts'
import { allAsked, answerOf, answersOf, asked, valued } from '../support/answer.ts'
import { fleet } from '../support/fleet.ts'
import { allLoading, loading, Source } from '../support/source.ts'

describe('a result that must not be stored', () => {
  test('goes to the caller whose loader it came from, and the others load side by side (rule 11)', async () => {
    const { all, source } = fleet()
    const answers = await allAsked(
      all.flatMap((cache) => [cache.getOrLoad('k', source.loader), cache.getOrLoad('k', source.loader)]),
    )
    expect(source.runs).toHaveLength(1)
    source.run(0).context.doNotStore()
    await source.resolve(0, 'first')
    expect(source.runs).toHaveLength(6)
    for (const [index, run] of source.runs.entries()) run.resolve(`value of run ${index}`)
    await settled()
    const values = answers.map((answer) => (answer.state === 'value' ? answer.value : answer.state))
    expect(values[0]).toBe('first')
    expect(new Set(values).size).toBe(6)
  })

  test('is not loaded again for a caller that has left', async () => {
    const { a } = fleet()
    const { source } = await loading(a)
    const caller = new AbortController()
    const left = await asked(a.getOrLoad('k', source.loader, { signal: caller.signal }))
    caller.abort(new Error('gone'))
    source.run(0).context.doNotStore()
    await source.resolve(0, 'v')
    expect(left).toEqual({ state: 'error', error: new Error('gone') })
    expect(source.runs).toHaveLength(1)
  })

  test.for<[string, Loader<unknown>]>([
    ['its loader says so', ({ doNotStore }) => (doNotStore(), 'mine')],
    ['it cannot be stored', () => Symbol('of no codec')],
  ])('lets nobody queue for a second, in any process, if %s, and then they do again (rule 11)', async ([, loader]) => {
    const { a, b, c, clock } = fleet()
    await a.getOrLoad('k', loader)
    await clock.advance(999)
    const { source, answers: together } = await allLoading([a, b, c])
    expect(source.runs.map(({ context }) => context.fence)).toEqual([null, null, null])
    for (const run of source.runs) run.resolve('v')
    await settled()
    expect(together).toEqual(Array.from({ length: 3 }, () => valued('v')))
    await clock.advance(1)
    const next = new Source<string>()
    await allAsked([a, b, c].map((cache) => cache.getOrLoad('k', next.loader)))
    expect(next.runs).toHaveLength(1)
  })

  test('lets nobody queue for as long as its loader says', async () => {
    const { a, b, clock } = fleet()
    await a.getOrLoad('k', ({ doNotStore }) => (doNotStore('20s'), 'mine'))
    await clock.advance(19_999)
    expect(await b.getOrLoad('k', ({ fence }) => fence)).toBe(null)
    await clock.advance(1)
    expect(await b.getOrLoad('k', ({ fence }) => fence !== null)).toBe(true)
    expect(await asked(a.getOrLoad('l', ({ doNotStore }) => doNotStore('soon' as '1s')))).toMatchObject({
      error: expect.any(TypeError) as unknown,
    })
  })

  test('is forgotten with an invalidation or a set', async () => {
    const { a, b } = fleet()
    await a.getOrLoad('k', ({ doNotStore }) => (doNotStore(), 'mine'))
    await b.invalidate('k')
    expect(await a.getOrLoad('k', () => 'v')).toBe('v')
    expect(await b.peek('k')).toMatchObject({ value: 'v' })
    await b.getOrLoad('l', ({ doNotStore }) => (doNotStore(), 'mine'))
    await a.set('l', 'set')
    expect(await b.getOrLoad('l', () => 'wrong')).toBe('set')
  })

  test('goes to nobody else when the store is away, either (rule 11, rule 12)', async () => {
    const { a, ways, clock } = fleet()
    ways.a.mode = 'silent'
    const loader =
      (name: string) =>
      async ({ doNotStore }: { doNotStore: () => void }) => {
        await settled()
        doNotStore()
        return `for ${name} alone`
      }
    const answers = answersOf(['Ann', 'Bob', 'Cid'].map((name) => a.getOrLoad('k', loader(name))))
    await clock.advance(5_000)
    expect(answers).toEqual(['Ann', 'Bob', 'Cid'].map((name) => ({ state: 'value', value: `for ${name} alone` })))
  })

  test('is not loaded for callers whose timeout is over meanwhile (rule 8)', async () => {
    const { a, b, clock } = fleet()
    const { source } = await loading(a)
    const gone = [a, b].map((cache) => answerOf(cache.getOrLoad('k', source.loader, { waitTimeout: 100 })))
    await clock.advance(100)
    source.run(0).context.doNotStore()
    await source.resolve(0, 'mine')
    expect(gone).toMatchObject([{ error: { code: 'WAIT_TIMEOUT' } }, { error: { code: 'WAIT_TIMEOUT' } }])
    expect(source.runs).toHaveLength(1)
  })

  test('of a load that fails is an error like any other', async () => {
    const { a, b } = fleet()
    const loader = ({ doNotStore }: { doNotStore: () => void }): string => {
      doNotStore()
      throw new Error('down')
    }
    await expect(a.getOrLoad('k', loader)).rejects.toThrow('down')
    await expect(b.getOrLoad('k', () => 'v')).rejects.toThrow('down')
  })

  test('has the loads beside it end by their own timeouts (rule 8)', async () => {
    const { a, b, clock, source } = fleet({ hardTimeout: '2s', waitTimeout: '5s' })
    await a.getOrLoad('k', ({ doNotStore }) => (doNotStore(), 'mine'))
    const answers = [
      answerOf(b.getOrLoad('k', source.loader)),
      answerOf(b.getOrLoad('k', source.loader, { waitTimeout: 100 })),
    ]
    await clock.advance(2_000)
    expect(answers).toMatchObject([{ error: { code: 'LOAD_TIMEOUT' } }, { error: { code: 'WAIT_TIMEOUT' } }])
    expect(source.run(0).context.signal.aborted).toBe(true)
  })
})
