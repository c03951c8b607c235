import { describe, expect, test } from 'vitest'
import { createCache, memoryStore, type Codec } from '../../../src/index.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { answerOf, asked, valued } from '../support/answer.ts'
import { fleet, told } from '../support/fleet.ts'
import { loading, Source } from '../support/source.ts'
import { UnreliableStore } from '../support/unreliable-store.ts'

describe.for([
  ['is lost', 'lost'],
  ['is never promised', 'never promised'],
] as const)('a waiter whose message %s', ([, messages]) => {
  /** A load in `a`, waited for in `b`, which hears nothing of it. */
  async function waiting() {
    const all = fleet({ leaseTtl: '10s' })
    all.ways.b.messages = messages
    const source = new Source<string>()
    const leader = await asked(all.a.getOrLoad('k', source.loader))
    const waiter = answerOf(all.b.getOrLoad('k', source.loader))
    await all.clock.advance(777)
    return { ...all, source, leader, waiter }
  }

  test('has the value within half a second, and loads nothing (rule 7)', async () => {
    const { clock, source, leader, waiter } = await waiting()
    source.run(0).resolve('v')
    await clock.advance(500)
    expect([leader, waiter]).toEqual([valued('v'), valued('v')])
    expect(source.runs).toHaveLength(1)
  })

  test('has the error within half a second, and loads nothing (rule 7, rule 5)', async () => {
    const { clock, source, waiter } = await waiting()
    source.run(0).reject(new Error('down'))
    await clock.advance(500)
    expect(waiter).toMatchObject({ state: 'error', error: { message: 'down' } })
    expect(source.runs).toHaveLength(1)
  })

  test('takes over within half a second of the release of the lease (rule 7)', async () => {
    const { a, clock, source, waiter } = await waiting()
    await Promise.all([a.close({ timeout: 0 }), clock.advance(500)])
    expect(source.runs).toHaveLength(2)
    await source.resolve(1, 'v')
    expect(waiter).toEqual(valued('v'))
  })
})

const almostOne = 1 - Number.EPSILON

test.for<['lost' | 'never promised', number, number[]]>([
  ['lost', 0, [263, 263, 263]],
  ['lost', almostOne, [438, 438, 438]],
  ['never promised', 0, [19, 28, 42]],
  ['never promised', 0.5, [25, 38, 56, 84, 127, 190, 285, 350, 350]],
  ['never promised', almostOne, [31, 47, 70]],
])('a waiter whose messages are %s asks again at its pace, with a draw of %d', async ([messages, draw, pauses]) => {
  const { a, b, clock, ways } = fleet()
  Object.assign(clock, { random: () => draw })
  ways.b.messages = messages
  await loading(a)
  const times: number[] = []
  const claim = ways.b.claim.bind(ways.b)
  ways.b.claim = (request) => (times.push(clock.now()), claim(request))
  answerOf(b.getOrLoad('k', () => 'wrong'))
  await clock.advance(5_000)
  const between = times.slice(1).map((time, index) => Math.round(time - (times[index] as number)))
  expect(between.slice(0, pauses.length)).toEqual(pauses)
  expect(Math.max(...between)).toBeLessThan(500)
})

test('a holder that dies is replaced when its lease ends (rule 10)', async () => {
  const { a, b, c, clock, ways } = fleet({ leaseTtl: '6s' })
  const { source } = await loading(a)
  const answers = [answerOf(b.getOrLoad('k', source.loader)), answerOf(c.getOrLoad('k', source.loader))]
  await clock.advance(1_000)
  ways.a.mode = 'silent'
  await clock.advance(4_999)
  expect(source.runs).toHaveLength(1)
  await clock.advance(502)
  expect(source.runs).toHaveLength(2)
  source.run(1).resolve('v')
  await clock.advance(500)
  expect(answers).toEqual([valued('v'), valued('v')])
})

describe('a value that this process cannot read', () => {
  const theirs: Codec = {
    encode: (value) => Buffer.from(`their ${String(value)}`),
    decode: (payload) => payload.toString(),
  }

  function mixed() {
    const clock = new FakeClock()
    const store = memoryStore({ clock })
    const way = new UnreliableStore(store)
    // Somebody who asks without end would not even let this test fail.
    const claim = way.claim.bind(way)
    way.claim = (request) => (way.count('claim') > 100 ? new Promise(() => undefined) : claim(request))
    return {
      clock,
      way,
      theirs: createCache({ store, clock, codec: theirs }),
      ours: createCache({ store: way, clock }),
    }
  }

  test('counts as missing, and is replaced', async () => {
    const { theirs: other, ours } = mixed()
    await other.getOrLoad('k', () => 'v')
    const garbage = told(ours, 'garbage')
    expect(await ours.peek('k')).toEqual({ state: 'missing' })
    expect(await ours.getOrLoad('k', () => 'our v')).toBe('our v')
    expect(await ours.getOrLoad('k', () => 'wrong')).toBe('our v')
    expect(garbage).not.toEqual([])
  })

  test.for(['delivered', 'lost', 'never promised'] as const)(
    'counts as missing when it was waited for, and is replaced, where messages are %s',
    async (messages) => {
      const { clock, way, theirs: other, ours } = mixed()
      way.messages = messages
      const { source, answer: theirAnswer } = await loading(other)
      const answer = answerOf(ours.getOrLoad('k', () => 'our v'))
      await clock.advance(10)
      source.run(0).resolve('v')
      await clock.advance(500)
      expect(theirAnswer).toEqual(valued('v'))
      expect(answer).toEqual(valued('our v'))
      expect(way.count('claim')).toBeLessThan(10)
    },
  )
})
