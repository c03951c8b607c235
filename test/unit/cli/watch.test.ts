import { describe, expect, test } from 'vitest'
import type { NamedLease } from '../../../src/cli/held.ts'
import { History } from '../../../src/cli/watch/history.ts'
import { pauseAfter, snapshotOf, type Snapshot } from '../../../src/cli/watch/snapshot.ts'
import { shortened, tableOf, type Size } from '../../../src/cli/watch/table.ts'

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

/** Snapshots a second apart, of these loads each. */
function snapshotsOf(...looks: readonly (readonly NamedLease[])[]): Snapshot[] {
  const snapshots: Snapshot[] = []
  for (const [second, leases] of looks.entries()) {
    const moment = new Date(Date.parse(time) + 1_000 * second).toISOString()
    snapshots.push(snapshotOf(leases, snapshots.at(-1) ?? null, { time: moment, took: 12 }))
  }
  return snapshots
}

function historyOf(snapshots: readonly Snapshot[]): History {
  const history = new History()
  for (const snapshot of snapshots) history.add(snapshot)
  return history
}

describe('the history', () => {
  const nothing = Array.from({ length: 12 }, () => [])

  test('keeps a key for ten seconds after its load has ended, with its loads and its peak', () => {
    const hot = leaseOf('hot', { waiting: 31 })
    const looks = [[hot], [leaseOf('hot', { token: 'another', waiting: 3 }), leaseOf('cold')], ...nothing]
    const snapshots = snapshotsOf(...looks)
    const seenAt = (second: number): object[] =>
      historyOf(snapshots.slice(0, second + 1)).keys.map(({ lease: { key }, loads, peak, endedAt }) => {
        return { key, loads, peak, isOver: endedAt !== null }
      })
    expect(seenAt(1)).toEqual([
      { key: 'hot', loads: 2, peak: 31, isOver: false },
      { key: 'cold', loads: 1, peak: 0, isOver: false },
    ])
    for (const second of [2, 11]) {
      expect(seenAt(second)).toEqual([
        { key: 'hot', loads: 2, peak: 31, isOver: true },
        { key: 'cold', loads: 1, peak: 0, isOver: true },
      ])
    }
    expect(seenAt(12)).toEqual([])
  })

  test('leaves its peak behind', () => {
    const hot = leaseOf('hot', { waiting: 31 })
    const history = historyOf(snapshotsOf([leaseOf('a')], [hot, leaseOf('b'), leaseOf('c', { waiting: 2 })], []))
    expect(history.summary).toMatch(
      /^Watched for 2 s: at most 3 loads at once, and 4 loads ended\. At its peak, 31 processes waited for shop "hot" at \d\d:\d\d:57\.$/,
    )
    expect(historyOf(snapshotsOf([], [])).summary).toBe('Watched for 1 s: nothing was loaded')
    expect(historyOf(snapshotsOf([leaseOf('a')])).summary).toMatch(/No process waited for another\.$/)
  })
})

describe('the table', () => {
  const wide = { columns: 110, rows: 24 }

  /** The lines for the last of these looks. */
  function linesOf(size: Size, ...looks: readonly (readonly NamedLease[])[]): string[] {
    const snapshots = snapshotsOf(...looks)
    const [last] = snapshots.slice(-1) as [Snapshot]
    return tableOf(last, historyOf(snapshots), { pause: 988, ...size }).map(({ text }) => text)
  }

  test('has a line for each load, in columns', () => {
    const leases = [
      leaseOf('user:1', { waiting: 31, age: 4_200, left: 7_100, renewals: 1, version: '2' }),
      leaseOf('k', { namespace: 'other', holder: null, age: 12.3 }),
    ]
    const over = leaseOf('over', { waiting: 5 })
    const [first, second, ...rows] = linesOf(wide, [...leases, over], leases)
    expect(first).toMatch(/^\d\d:\d\d:57 {2}2 loads under way, waiting processes: 31, ended since the last look: 1$/)
    expect(second).toBe('This look took 12 ms, the next is in 988 ms. Ctrl+C ends it.')
    expect(rows).toEqual([
      '',
      'WAITING  PEAK  LOADS    AGE      LEFT  RENEWED  PROCESS      NAMESPACE  KEY',
      '     31    31      1  4.2 s     7.1 s        1  4711@shop-1  shop       user:1 (version 2)',
      '      0     0      1  12 ms       9 s        0  unknown      other      k',
      '            5      1  ended  0 ms ago        0  4711@shop-1  shop       over',
    ])
  })

  test('wraps what it says at the width of the terminal, between words', () => {
    const lines = linesOf({ columns: 40, rows: 24 }, [])
    expect(lines.slice(0, 5)).toEqual([
      expect.stringMatching(/^\d\d:\d\d:56 {2}0 loads under way, waiting$/) as string,
      'processes: 0, ended since the last look:',
      '0',
      'This look took 12 ms, the next is in 988',
      'ms. Ctrl+C ends it.',
    ])
  })

  test('says so if nothing is being loaded', () => {
    expect(linesOf(wide, []).at(-1)).toBe('Nothing is being loaded')
  })

  test.for([110, 150, 400])('is as wide as a terminal of %i columns, and shows both ends of a key', (columns) => {
    const key = `begin-${'x'.repeat(500)}-end`
    const holder = { host: 'a-pod-with-a-very-long-name-7f9c6d5b8-x2x9z', pid: 1 }
    const lines = linesOf({ columns, rows: 24 }, [leaseOf(key, { holder })])
    expect(lines.at(-1)).toMatch(/ 1@a-pod-with…\S{11} {2}shop {7}begin-x*…x*-end$/)
    expect(lines.at(-1)).toHaveLength(columns)
  })

  test('has no more lines than the terminal, and says how many loads it leaves out', () => {
    const leases = Array.from({ length: 50 }, (_, index) => leaseOf(`key ${index}`, { waiting: 50 - index }))
    const size = { columns: 110, rows: 10 }
    const lines = linesOf(size, leases)
    expect(lines).toHaveLength(10)
    expect(lines.slice(-2)).toEqual([expect.stringMatching(/key 4$/) as string, '… and 45 more'])
    expect(linesOf(size, leases.slice(0, 6)).at(-1)).toMatch(/key 5$/)
  })

  test('has no sign that a terminal obeys, or that turns others round', () => {
    const evil = '\u{1b}[2J\n\r\t\u{9b}31m\u{202e}\u{2028}'
    const leases = [leaseOf(evil, { namespace: evil, holder: { host: evil, pid: 1 } })]
    const lines = linesOf(wide, leases)
    const waited = leaseOf(evil, { namespace: evil, waiting: 1 })
    expect(historyOf(snapshotsOf([waited])).summary).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
    expect(lines.join('')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
    expect(lines).toHaveLength(5)
  })

  test('shortens a text in its middle, and splits no sign', () => {
    expect(shortened('abcdef', 6)).toBe('abcdef')
    expect(shortened('abcdefg', 6)).toBe('abc…fg')
    expect(shortened('👩‍👧👩‍👧👩‍👧👩‍👧', 3)).toBe('👩‍👧…👩‍👧')
  })
})
