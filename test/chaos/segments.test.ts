import { expect, test } from 'vitest'
import { call, got, load, write } from '../support/made-up.ts'
import { Segments } from './segments.ts'

test('what began in one segment is judged by what happens in the next', () => {
  const segments = new Segments()
  segments.add([...load('a', [10, 20]), ...write('w', [30, 40])])
  expect(segments.judge(100, {}).wrong).toEqual([])
  segments.add([call('c', 110), got('c', 111, 'a')])
  expect(segments.judge(200, {}).wrong).toEqual([expect.stringMatching(/^3: call c /)])
})

test('what is wrong is said once', () => {
  const segments = new Segments()
  segments.add([...load('a', [10, 20]), ...write('w', [30, 40]), call('c', 50), got('c', 51, 'a')])
  expect(segments.judge(100, {}).wrong).toHaveLength(1)
  expect(segments.judge(200, {}).wrong).toEqual([])
})

test('a lease without a load is told of once, however long it stays, and counted once', () => {
  const segments = new Segments()
  segments.add(load('a', [10, 20], { fence: '7' }))
  const lease = { key: 'k', token: 't', fence: '7', process: 1 }
  const judged = [10_000, 26_000, 42_000, 58_000].map((upTo) => {
    for (let at = upTo - 16_000; at < upTo; at += 500) segments.add([{ what: 'seen', at, leases: [lease] }])
    return segments.judge(upTo, {})
  })
  expect(judged.flatMap(({ wrong }) => wrong)).toEqual([expect.stringMatching(/^9: k had the lease t for \d+ ms/)])
  expect(judged.map(({ figures }) => figures.ghosts)).toEqual([1, 0, 0, 0])
})

test('a caller who still waits is judged when the answer is there, or when it is too late', () => {
  const segments = new Segments()
  segments.add([call('c', 90, { within: 1_000 }), call('d', 95, { within: 1_000 }), ...load('a', [10, 20])])
  expect(segments.judge(100, {}).wrong).toEqual([])
  segments.add([got('c', 1_000, 'a')])
  expect(segments.judge(2_000, {}).wrong).toEqual([])
  expect(segments.judge(2_200, {}).wrong).toEqual([expect.stringMatching(/^4: call d .* had no answer/)])
})

test('a load whose caller still waits is judged by when that caller asked', () => {
  const segments = new Segments()
  segments.add([call('c', 90, { within: 10_000 })])
  for (let number = 1; number <= 5; number++) {
    const at = 100 * number
    segments.add([...load(`v${number}`, [at, at + 50], { by: 'c' }), ...write(`w${number}`, [at + 10, at + 20])])
  }
  segments.add(load('alone', [600, 650], { by: 'c', fence: null }))
  expect(segments.judge(700, { hit: [] }).wrong).toEqual([])
})

test('each call is counted in one segment', () => {
  const segments = new Segments()
  segments.add([call('c', 90), got('c', 95, 'a'), call('d', 99)])
  expect(segments.judge(100, {}).figures).toMatchObject({ calls: 1, answers: { value: 1 } })
  segments.add([got('d', 105, 'a')])
  expect(segments.judge(200, {}).figures).toMatchObject({ calls: 1, answers: { value: 1 } })
})

test('why a load ran without a lease is known for as long as the load', () => {
  const segments = new Segments()
  const voids = [1, 2, 3, 4, 5].flatMap((number) => write(`w${number}`, [100 * number, 100 * number + 1]))
  segments.add([call('c', 50), ...voids, ...load('a', [600, 610], { by: 'c', fence: null }), got('c', 620, 'a')])
  expect(segments.judge(1_000, { hit: [] }).wrong).toEqual([])
  segments.add([call('d', 19_000), got('d', 19_001, 'a')])
  expect(segments.judge(19_500, { hit: [] }).wrong).toEqual([])
  expect(segments.judge(20_500, { hit: [] }).wrong).toEqual([])
})

test('a load that said that nobody queues is known for as long as the loads that followed it', () => {
  const segments = new Segments()
  segments.add([
    ...load('p', [500, 2_000], { ends: 'pass' }),
    ...['a', 'b', 'c'].flatMap((id) => load(id, [3_400, 3_500], { fence: null })),
  ])
  const allowed = { hit: [] }
  expect([4_000, 20_600, 22_100, 23_300, 30_000].flatMap((upTo) => segments.judge(upTo, allowed).wrong)).toEqual([])
})

test('a fault explains what it did for as long as that is remembered', () => {
  const segments = new Segments()
  const alone = load('a', [1_500, 30_000], { fence: null })
  segments.add([{ what: 'fault', at: 1_000, name: 'f' }, { what: 'healed', at: 1_900, name: 'f' }, ...alone])
  segments.add([call('c', 21_000), got('c', 21_010, 'a')])
  expect(segments.judge(21_400, { healsWithin: 500 }).wrong).toEqual([])
  segments.add([call('d', 22_000), got('d', 22_010, 'a')])
  expect(segments.judge(22_500, { healsWithin: 500 }).wrong).toEqual([])
})

test('what can have no consequences any more is forgotten', () => {
  const segments = new Segments()
  const sizes: number[] = []
  for (let second = 0; second < 200; second++) {
    const at = second * 1_000
    segments.add([
      ...load(`l${second}`, [at, at + 1]),
      call(`c${second}`, at + 2),
      got(`c${second}`, at + 3, `l${second}`),
    ])
    expect(segments.judge(at + 10, {}).wrong).toEqual([])
    sizes.push(segments.size)
  }
  expect(sizes[199]).toBe(sizes[100])
})
