import { describe, expect, test } from 'vitest'
import type { NamedLease } from '../../../src/cli/held.ts'
import { pauseAfter, snapshotOf } from '../../../src/cli/watch/snapshot.ts'
import { shortened, tableOf } from '../../../src/cli/watch/table.ts'

const time = '2026-11-25T12:34:56.789Z'

function leaseOf(key: string, lease: Partial<NamedLease> = {}): NamedLease {
  return {
    namespace: 'shop',
    key,
    version: null,
    token: `token of ${key}`,
    fence: 1n,
    holder: { host: 'shop-1', pid: 4711 },
    context: null,
    age: 1_000,
    left: 9_000,
    renewals: 0,
    waiting: 0,
    ...lease,
  }
}

describe('a snapshot', () => {
  test('begins with the loads for which most processes wait, then with the oldest', () => {
    const found = [
      leaseOf('young', { age: 10 }),
      leaseOf('old', { age: 5_000 }),
      leaseOf('hot', { waiting: 3 }),
      leaseOf('hottest', { waiting: 30, age: 1 }),
      leaseOf('foreign', { waiting: null, age: 100 }),
    ]
    const { leases, loads, waiting } = snapshotOf(found, null, { time, took: 1 })
    expect(leases.map(({ key }) => key)).toEqual(['hottest', 'hot', 'old', 'foreign', 'young'])
    expect({ loads, waiting }).toEqual({ loads: 5, waiting: 33 })
  })

  test('counts the loads of the one before that have ended, also where the same key is loaded again', () => {
    const first = snapshotOf([leaseOf('a'), leaseOf('b'), leaseOf('c')], null, { time, took: 1 })
    expect(first.ended).toBe(0)
    const again = leaseOf('a', { token: 'another' })
    expect(snapshotOf([again, leaseOf('b')], first, { time, took: 1 }).ended).toBe(2)
  })

  test.for([
    [1, 1_000, 999],
    [100, 1_000, 900],
    [500, 1_000, 4_500],
    [3_000, 100, 27_000],
  ])('that took %i ms with an interval of %i ms is followed by a pause of %i ms', ([took, interval, pause]) => {
    expect(pauseAfter(took as number, interval as number)).toBeCloseTo(pause as number)
  })
})

describe('the table', () => {
  const wide = { columns: 100, rows: 24 }

  test('has a line for each load, in columns', () => {
    const leases = [
      leaseOf('user:1', { waiting: 31, age: 4_200, left: 7_100, renewals: 1, version: '2' }),
      leaseOf('k', { namespace: 'other', holder: null, age: 12.3 }),
    ]
    const [first, second, ...rows] = tableOf(snapshotOf(leases, null, { time, took: 12 }), 988, wide)
    expect(first).toMatch(/^\d\d:\d\d:56 {2}2 loads under way, waiting processes: 31, ended since the last look: 0$/)
    expect(second).toBe('This look took 12 ms, the next is in 988 ms. Ctrl+C ends it.')
    expect(rows).toEqual([
      '',
      'WAITING    AGE   LEFT  RENEWED  PROCESS      NAMESPACE  KEY',
      '     31  4.2 s  7.1 s        1  4711@shop-1  shop       user:1 (version 2)',
      '      0  12 ms    9 s        0  unknown      other      k',
    ])
  })

  test('says so if nothing is being loaded', () => {
    expect(tableOf(snapshotOf([], null, { time, took: 1 }), 999, wide).at(-1)).toBe('Nothing is being loaded')
  })

  test.for([90, 120, 400])('is as wide as a terminal of %i columns, and shows both ends of a key', (columns) => {
    const key = `begin-${'x'.repeat(500)}-end`
    const holder = { host: 'a-pod-with-a-very-long-name-7f9c6d5b8-x2x9z', pid: 1 }
    const lines = tableOf(snapshotOf([leaseOf(key, { holder })], null, { time, took: 1 }), 999, { columns, rows: 24 })
    expect(lines.at(-1)).toMatch(/ 1@a-pod-with…\S{11} {2}shop {7}begin-x*…x*-end$/)
    expect(lines.at(-1)).toHaveLength(columns)
  })

  test('has no more lines than the terminal, and says how many loads it leaves out', () => {
    const leases = Array.from({ length: 50 }, (_, index) => leaseOf(`key ${index}`, { waiting: 50 - index }))
    const size = { columns: 100, rows: 10 }
    const lines = tableOf(snapshotOf(leases, null, { time, took: 1 }), 999, size)
    expect(lines).toHaveLength(10)
    expect(lines.slice(-2)).toEqual([expect.stringMatching(/key 4$/) as string, '… and 45 more'])
    expect(tableOf(snapshotOf(leases.slice(0, 6), null, { time, took: 1 }), 999, size).at(-1)).toMatch(/key 5$/)
  })

  test('has no sign that a terminal obeys, or that turns others round', () => {
    const evil = '\u{1b}[2J\n\r\t\u{9b}31m\u{202e}\u{2028}'
    const leases = [leaseOf(evil, { namespace: evil, holder: { host: evil, pid: 1 } })]
    const lines = tableOf(snapshotOf(leases, null, { time, took: 1 }), 999, wide)
    expect(lines.join('')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
    expect(lines).toHaveLength(5)
  })

  test('shortens a text in its middle, and splits no sign', () => {
    expect(shortened('abcdef', 6)).toBe('abcdef')
    expect(shortened('abcdefg', 6)).toBe('abc…fg')
    expect(shortened('👩‍👧👩‍👧👩‍👧👩‍👧', 3)).toBe('👩‍👧…👩‍👧')
  })
})
