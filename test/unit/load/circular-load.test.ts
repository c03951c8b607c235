import { describe, expect, test } from 'vitest'
import { createCache, memoryStore, type Cache } from '../../../src/index.ts'
import { FakeClock, settled } from '../../support/fake-clock.ts'
import { allAsked, answerOf, asked, valued, type Answer } from '../support/answer.ts'
import { fleet } from '../support/fleet.ts'
import { Source } from '../support/source.ts'

function circle(chain: string) {
  return { state: 'error', error: { code: 'CIRCULAR_LOAD', message: `A loader waits for its own key: ${chain}` } }
}

/** A loader that asks for other keys when the test says so, one after the other. */
function asking(cache: Cache, ...keys: string[]) {
  let go!: () => void
  const told = new Promise<void>((resolve) => (go = resolve))
  const loader = async (): Promise<string> => {
    await told
    let text = ''
    for (const key of keys) text += await cache.getOrLoad(key, () => key)
    return text
  }
  return { go, loader }
}

describe('a loader that loads its own key', () => {
  test('is told so instead of waiting for itself (rule 9)', async () => {
    const { a, clock } = fleet()
    expect(await asked(a.getOrLoad('A', () => a.getOrLoad('A', () => 'v')))).toMatchObject(circle('"A" → "A"'))
    expect(clock.now()).toBe(1_000)
  })

  test('is told so although another load has ended meanwhile (rule 9)', async () => {
    const { a } = fleet()
    const { go, loader } = asking(a, 'A')
    const answer = answerOf(a.getOrLoad('A', loader))
    expect(await a.getOrLoad('B', () => 'v')).toBe('v')
    go()
    await settled()
    expect(answer).toMatchObject(circle('"A" → "A"'))
  })

  test('is told so through another key (rule 9)', async () => {
    const { a } = fleet()
    expect(await asked(a.getOrLoad('A', () => a.getOrLoad('B', () => a.getOrLoad('A', () => 'v'))))).toMatchObject(
      circle('"A" → "B" → "A"'),
    )
  })

  test.for([{}, { near: {} }])('is told so among the answers for many keys, with %o (rule 9)', async (options) => {
    const { a } = fleet(options)
    const many = (): Promise<unknown> =>
      a.getOrLoadMany(['x', 'A'], (keys) => keys.map(() => new Error('down')), { signal: new AbortController().signal })
    expect(await asked(a.getOrLoad('A', many))).toMatchObject({
      value: [{ message: 'down' }, { code: 'CIRCULAR_LOAD' }],
    })
  })

  test('is told so through another cache of the process (rule 9)', async () => {
    const { a, b } = fleet()
    expect(await asked(a.getOrLoad('A', () => b.getOrLoad('B', () => a.getOrLoad('A', () => 'v'))))).toMatchObject(
      circle('"A" → "B" → "A"'),
    )
  })

  test('is told so after any number of other things', async () => {
    const { a, clock } = fleet()
    const answer = answerOf(
      a.getOrLoad('A', async () => {
        await new Promise<void>((resolve) => clock.after(100, resolve))
        return Promise.all([a.getOrLoad('B', () => 'b'), a.getOrLoad('A', () => 'v')])
      }),
    )
    await clock.advance(100)
    expect(answer).toMatchObject(circle('"A" → "A"'))
  })

  test('is told of long and strange keys in short', async () => {
    const { a } = fleet()
    const key = `\n${'k'.repeat(1_000)}`
    const message = await a.getOrLoad(key, () => a.getOrLoad(key, () => 'v')).catch((error: Error) => error.message)
    expect(message).toContain(String.raw`"\nkkk`)
    expect(message.length).toBeLessThan(200)
  })

  test('may do without it', async () => {
    const { a } = fleet()
    const loader = () => a.getOrLoad('A', () => 'v').catch(() => 'without')
    expect(await a.getOrLoad('A', loader)).toBe('without')
  })

  test('is told so when the store is away, too (rule 9)', async () => {
    const { a, ways, clock } = fleet()
    ways.a.mode = 'silent'
    const answer = answerOf(a.getOrLoad('A', () => a.getOrLoad('B', () => a.getOrLoad('A', () => 'v'))))
    await clock.advance(5_000)
    expect(answer).toMatchObject({ state: 'error', error: { code: 'CIRCULAR_LOAD' } })
  })

  test('of the same name in another cache may load it', async () => {
    const clock = new FakeClock()
    const [shop, blog] = ['shop', 'blog'].map((namespace) =>
      createCache({ store: memoryStore({ clock }), clock, namespace }),
    )
    expect(await shop?.getOrLoad('A', () => blog?.getOrLoad('A', () => 'v'))).toBe('v')
  })

  test('may load it once its own load is over, from whatever it left running', async () => {
    const { a } = fleet()
    let leftRunning!: () => Promise<string>
    await a.getOrLoad('A', () => {
      const later = new Promise<void>((resolve) => setImmediate(resolve))
      const again = later.then(() => a.invalidate('A')).then(() => a.getOrLoad('A', () => 'again'))
      leftRunning = () => again
      again.catch(() => undefined)
      return 'first'
    })
    expect(await leftRunning()).toBe('again')
  })
})

describe('loads that wait for each other', () => {
  function codesOf(answers: readonly Answer<unknown>[]): unknown[] {
    return answers.map((answer) =>
      answer.state === 'error' ? (answer.error as { code?: unknown }).code : answer.state,
    )
  }

  test('are told so at once when two of them cross (rule 9)', async () => {
    const { a, clock } = fleet()
    const [first, second] = [asking(a, 'B'), asking(a, 'A')]
    const answers = await allAsked([a.getOrLoad('A', first.loader), a.getOrLoad('B', second.loader)])
    first.go()
    await settled()
    second.go()
    await settled()
    expect(codesOf(answers)).toEqual(['CIRCULAR_LOAD', 'CIRCULAR_LOAD'])
    expect(answers[0]).toMatchObject(circle('"B" → "A" → "B"'))
    expect(clock.now()).toBe(1_000)
  })

  test('are told so when three of them do, one of which waits for a fourth as well (rule 9)', async () => {
    const { a } = fleet()
    const loads = [asking(a, 'B'), asking(a, 'C'), asking(a, 'A')] as const
    const answers = await allAsked<unknown>([
      a.getOrLoad('A', loads[0].loader),
      a.getOrLoad('B', () => Promise.all([a.getOrLoad('D', new Source().loader), loads[1].loader()])),
      a.getOrLoad('C', loads[2].loader),
    ])
    for (const { go } of loads) {
      go()
      await settled()
    }
    expect(codesOf(answers)).toEqual(['CIRCULAR_LOAD', 'CIRCULAR_LOAD', 'CIRCULAR_LOAD'])
    expect(answers[2]).toMatchObject(circle('"C" → "A" → "B" → "C"'))
  })

  type Wait = () => Promise<string>
  test.for<[string, (short: Wait, long: Wait) => Promise<unknown>]>([
    ['another wait for the same key has ended before', async (short, long) => [await short(), await long()]],
    ['one of two concurrent waits for the same key has ended', (short, long) => Promise.all([short(), long()])],
  ])('are told so although %s (rule 9)', async ([, waits]) => {
    const { a, clock } = fleet()
    const b = asking(a, 'A')
    const first = await asked(a.getOrLoad('B', b.loader))
    const short: Wait = () => a.getOrLoad('B', () => 'b', { waitTimeout: 100 }).catch(() => 'gave up')
    const second = answerOf(a.getOrLoad('A', () => waits(short, () => a.getOrLoad('B', () => 'b'))))
    await clock.advance(200)
    b.go()
    await settled()
    expect(codesOf([first, second])).toEqual(['CIRCULAR_LOAD', 'CIRCULAR_LOAD'])
  })

  test('are told so when they cross through two caches of the process (rule 9)', async () => {
    const { a, clock } = fleet()
    const other = createCache({ store: memoryStore({ clock }), clock, namespace: 'other' })
    const [first, second] = [asking(other, 'B'), asking(a, 'A')]
    const answers = await allAsked([a.getOrLoad('A', first.loader), other.getOrLoad('B', second.loader)])
    first.go()
    second.go()
    await settled()
    expect(codesOf(answers)).toEqual(['CIRCULAR_LOAD', 'CIRCULAR_LOAD'])
  })

  test('in two processes end after a bounded wait, with values (rule 9)', async () => {
    const { a, b, clock } = fleet({ waitTimeout: '4s' })
    const [first, second] = [asking(a, 'B'), asking(b, 'A')]
    const answers = await allAsked([a.getOrLoad('A', first.loader), b.getOrLoad('B', second.loader)])
    first.go()
    second.go()
    await clock.advance(1_999)
    expect(codesOf(answers)).toEqual(['pending', 'pending'])
    await clock.advance(2_001)
    expect(codesOf(answers)).toEqual(['value', 'value'])
  })

  test('in two processes are not given up while they make progress: a nested wait for a load here goes on', async () => {
    const { a, clock, source } = fleet({ leaseTtl: '2s' })
    const inner = await asked(a.getOrLoad('B', source.loader))
    const outer = answerOf(a.getOrLoad('A', () => a.getOrLoad('B', () => 'wrong')))
    await clock.advance(20_000)
    expect(codesOf([inner, outer])).toEqual(['pending', 'pending'])
    await source.resolve(0, 'b')
    expect([inner, outer]).toEqual([valued('b'), valued('b')])
    expect(source.runs).toHaveLength(1)
  })
})

describe('loads that need each other without a circle', () => {
  test('are all answered, a key that two of them need being loaded once', async () => {
    const { a, source } = fleet()
    const need = (key: string) => a.getOrLoad(key, () => a.getOrLoad('D', source.loader))
    const answer = await asked(a.getOrLoad('A', () => Promise.all([need('B'), need('C')])))
    expect(source.runs).toHaveLength(1)
    await source.resolve(0, 'd')
    expect(answer).toEqual(valued(['d', 'd']))
  })

  test('may be many levels deep', async () => {
    const { a } = fleet()
    const load = (level: number): Promise<number> =>
      a.getOrLoad(`level ${level}`, () => (level === 0 ? 0 : load(level - 1).then((below) => below + 1)))
    expect(await load(100)).toBe(100)
  })

  test('are no circle when one of them has left its wait for the other (rule 9)', async () => {
    const { a, source } = fleet()
    const caller = new AbortController()
    const { go, loader } = asking(a, 'A')
    const b = await asked(a.getOrLoad('B', loader))
    const left = await asked(
      a.getOrLoad('A', async (context) => {
        await a.getOrLoad('B', () => 'never', { signal: caller.signal }).catch(() => null)
        return await source.loader(context)
      }),
    )
    caller.abort()
    await settled()
    go()
    await settled()
    await source.resolve(0, 'v')
    expect([left, b]).toEqual([valued('v'), valued('v')])
  })

  test('are no circle when one only refreshes the other, which it was served stale', async () => {
    const { a, clock, source } = fleet({ ttl: '1s', grace: '1m' })
    await a.set('B', 'old')
    await clock.advance(1_000)
    const answer = await asked(
      a.getOrLoad('A', async (context) => {
        const b = await a.getOrLoad('B', () => a.getOrLoad('A', () => 'never'))
        return b + (await source.loader(context))
      }),
    )
    await source.resolve(0, ' and new')
    expect(answer).toEqual(valued('old and new'))
    expect(await a.peek('B')).toMatchObject({ state: 'fresh', value: 'old and new' })
  })

  test('are no circle when the same key is asked for one after the other', async () => {
    const { a } = fleet()
    const loader = async () => [
      await a.getOrLoad('B', () => 1),
      await a.getOrLoad('B', () => 2),
      await a.getOrLoad('C', () => 3),
    ]
    expect(await a.getOrLoad('A', loader)).toEqual([1, 1, 3])
  })
})
