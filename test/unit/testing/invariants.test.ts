import { describe, expect, test } from 'vitest'
import { History, player, type Happening } from '../../support/history.ts'
import { violations, type Allowances } from '../../support/invariants.ts'
import { call, failed, flat, got, load, lost, write, type Story } from '../../support/made-up.ts'

const here = { process: 1 }
const there = { process: 2 }
const alone = { fence: null }

/** So many invalidations, one after the other. */
function voids(count: number, from: number): Story {
  return Array.from({ length: count }, (_, number) => write(`w${number}`, [from + 2 * number, from + 2 * number + 1]))
}

function did(what: 'killed' | 'stopped' | 'resumed', at: number, process = 1): Happening {
  return { what, at, process }
}

function stood([from, to]: readonly [number, number], process = 1): Story {
  return [did('stopped', from, process), did('resumed', to, process)]
}

function fault(from: number, to: number): Story {
  return [
    { what: 'fault', at: from, name: 'it' },
    { what: 'healed', at: to, name: 'it' },
  ]
}

/** A call that loads without a lease. */
function loadedAlone(within: number): Story {
  return [call('c', 9, { within }), load('a', [100, 110], { by: 'c', ...alone }), got('c', 112, 'a')]
}

interface Case {
  readonly invariant: number
  /** What is wrong. */
  readonly name: string
  readonly broken: Story
  /** Nearly the same, and nothing is wrong with it. */
  readonly kept: Story
  readonly allowed?: Allowances | undefined
}

const cases: Case[] = []

/** The one story is told with what breaks the invariant, and with what keeps it. */
function finds<T>(
  invariant: number,
  name: string,
  [broken, kept]: readonly [T, T],
  story: (given: T) => Story,
  allowed?: Allowances,
): void {
  cases.push({ invariant, name, broken: story(broken), kept: story(kept), allowed })
}

const [first, second] = [load('a', [10, 50]), load('b', [40, 80], there)]
finds(1, 'two loads that both have the lease', [40, 51], (at) => [first, load('b', [at, 80], there)])
finds(
  1,
  'two loads that both have the lease, although a write has voided an earlier one',
  [write('w', [1, 5]), write('w', [20, 35], { process: 3 })],
  (written) => [written, first, second],
)
finds(1, 'a holder that is told too late', [60, 39], (at) => [load('a', [10, 90]), lost('a', at), second])
finds(
  1,
  'two loads that both have the lease for longer than is allowed',
  [90, 60],
  (to) => [load('a', [10, to]), second],
  { overlap: 30 },
)
finds(1, 'a holder that goes on although it was blocked for too long', [150, 190], (resumed) => [
  load('a', [10, 200]),
  stood([20, resumed]),
  load('b', [100, 180], there),
])
finds<Story>(
  1,
  'a lease that is taken from a process that lives',
  [load('a', [10, 100]), [load('a', [10, Infinity]), did('killed', 50)]],
  (holder) => [holder, load('b', [60, 100], there)],
)
finds(
  1,
  'three loads at once in one process without a lease',
  [
    [1, 1, 1],
    [1, 2, 3],
  ],
  (processes) => processes.map((process, index) => load(`l${index}`, [10 + index, 50 + index], { process, ...alone })),
)
finds(2, 'the value of a lost load that reaches a later caller', [20, 5], (at) => [
  [call('c', at), first, lost('a', 40), got('c', 60, 'a')],
])
finds(2, 'the value of a lost load that reaches another process', [40, 51], (at) => [
  [call('c', 5, there), first, lost('a', at), got('c', 60, 'a', there)],
])
finds(3, 'a value from before an invalidation', [41, 39], (at) => [
  [load('a', [10, 20]), write('w', [30, 40], there), call('c', at), got('c', 45, 'a')],
])
finds(3, 'a value whose load began before an invalidation and ended after it', [29, 31], (from) => [
  [load('a', [from, 50]), write('w', [30, 40], there), call('c', 41), got('c', 60, 'a')],
])
finds(3, 'a value that was set before another was', [20, 35], (to) => [
  [write('v', [10, to], { kind: 'set' }), write('w', [30, 40], { kind: 'set', ...there })],
  [call('c', 41), got('c', 45, 'v')],
])
finds(
  3,
  'the error of a load from before a soft invalidation, which leaves values stale',
  [
    [load('a', [10, 20], { ends: 'error' }), failed('c', 45, 'LOAD_FAILED', { by: 'a' })],
    [load('a', [10, 20]), got('c', 45, 'a')],
  ],
  (answered) => [answered, write('w', [30, 40], { kind: 'expire' }), call('c', 41)],
)
finds<{ process: number } | { error: string }>(
  3,
  'the error of a load from before an invalidation',
  [there, { error: 'STORE_UNAVAILABLE' }],
  (how) => [
    [load('a', [10, 20], { ends: 'error' }), write('w', [30, 40], how)],
    [call('c', 41), failed('c', 45, 'LOAD_FAILED', { by: 'a' })],
  ],
)
finds(
  3,
  'an invalidation that was forgotten at a time when none may be',
  [30, 51],
  (from) => [load('a', [10, 20]), write('w', [from, from + 9], there), call('c', from + 10), got('c', from + 15, 'a')],
  { forgotten: [{ from: 50, to: 70 }] },
)
finds(4, 'a caller who is answered too late', [2_011, 2_009], (at) => [
  [call('c', 10, { within: 1_000 }), load('a', [20, 2_000]), got('c', at, 'a')],
])
finds(4, 'a caller who is answered too late although its process was blocked', [500, 520], (resumed) => [
  [call('c', 10, { within: 1_000 }), stood([20, resumed]), load('a', [600, 700]), got('c', 2_500, 'a')],
])
finds<Story>(4, 'a caller who has no answer', [[call('d', 20)], [call('d', 20, there), did('killed', 60)]], (more) => [
  [call('c', 10), load('a', [30, 40]), got('d', 50, 'a'), more],
])
finds(
  4,
  'an error that is not allowed',
  ['WAIT_TIMEOUT', 'CLOSED'],
  (error) => [call('c', 10), failed('c', 20, error)],
  {
    errors: ['CLOSED'],
  },
)
finds<{ ends?: 'error' }>(4, 'a failure without a load that failed', [{}, { ends: 'error' }], (how) => [
  [load('a', [12, 18], how), call('c', 10), failed('c', 20, 'LOAD_FAILED')],
])
finds(4, 'the failure of a load that did not fail', ['b', 'a'], (by) => [
  [load('a', [12, 14], { ends: 'error' }), load('b', [15, 18]), call('c', 10), failed('c', 20, 'LOAD_FAILED', { by })],
])
finds(
  4,
  'a caller who sleeps through the end of the load',
  [91, 89],
  (at) => [call('c', 10, there), load('a', [20, 40]), got('c', at, 'a', there)],
  { wakeUp: 50 },
)
finds<Story>(
  4,
  'a caller who sleeps through the end of the load, while all that lies between turns',
  [[], stood([50, 90], player)],
  (stop) => [call('c', 10, there), load('a', [20, 40]), stop, got('c', 121, 'a', there)],
  { wakeUp: 50 },
)
finds(
  4,
  'a caller who sleeps while nothing newer is loaded',
  [40, 90],
  (to) => [load('a', [1, 2]), call('c', 10), load('b', [20, to], { ends: 'error' }), got('c', 95, 'a')],
  { wakeUp: 50 },
)
finds(
  4,
  'a write that does not end',
  [10, 110],
  (from) => [write('w', [from, Infinity]), call('c', 1_200), failed('c', 1_201, 'X')],
  { errors: ['X'] },
)
finds(4, 'a write that fails for no good reason', ['LOAD_FAILED', 'STORE_UNAVAILABLE'], (error) =>
  write('w', [10, 20], { error }),
)
finds(
  4,
  'an error in a process that nothing was done to',
  [here, there],
  (where) => [call('c', 10, where), failed('c', 20, 'CLOSED', where)],
  { errors: ['CLOSED'], hit: [2] },
)
finds(
  4,
  'a failed write in a process that nothing was done to',
  [here, there],
  (where) => write('w', [10, 20], { error: 'STORE_UNAVAILABLE', ...where }),
  { hit: [2] },
)
finds(
  4,
  'a load without a lease in a process that nothing was done to',
  [here, there],
  (where) => [load('a', [10, 20], { ...alone, ...where }), load('b', [30, 40], { ...alone, ends: 'pass' })],
  { hit: [2] },
)
finds(
  4,
  'a load without a lease long after a result that must not be stored',
  [2_000, 1_000],
  (at) => [load('p', [10, 20], { ...alone, ends: 'pass' }), load('a', [at, at + 10], alone)],
  { hit: [] },
)
finds(
  4,
  'a load without a lease after five others were voided',
  [4, 5],
  (count) => [loadedAlone(1_000), voids(count, 10)],
  { hit: [] },
)
finds(
  4,
  'a load without a lease after two others were voided, before half of its wait timeout is over',
  [300, 100],
  (within) => [loadedAlone(within), voids(2, 10)],
  { hit: [] },
)
finds<Story>(
  4,
  'a late load without a lease, though only one other was voided and none was taken over',
  [voids(1, 10), [load('x', [8, 90], there), load('y', [50, 80], { process: 3 }), voids(1, 85)]],
  (others) => [others, loadedAlone(100)],
  { hit: [], overlap: 100 },
)
finds<Story>(
  4,
  'a late load without a lease, though its process had not been blocked while others ran that nobody took over',
  [[], [stood([50, 260]), stood([350, 560])]],
  (stops) => [
    [call('c', 9, { within: 1_000 }), load('x', [10, 300], { by: 'c' }), load('y', [310, 590], { by: 'c' }), stops],
    [load('a', [600, 610], { by: 'c', ...alone }), got('c', 612, 'a')],
  ],
  { hit: [], leaseTtl: 300 },
)
finds(5, "another key's value", ['k', 'l'], (key) => [
  [load('a', [1, 2], { key: 'l' }), call('c', 10, { key }), got('c', 20, 'a', { key: 'l' })],
])
finds(5, 'a value that says it is for this key, but was made for another', ['l', 'k'], (key) => [
  [load('a', [1, 2], { key }), call('c', 10), got('c', 20, 'a')],
])
finds<unknown>(5, 'a value that nobody can have made', [undefined, { key: 'k', by: 'one who was killed' }], (value) => [
  [call('c', 10), { what: 'answer', at: 20, process: 1, call: 'c', value }],
])
finds(6, 'an older value after a newer one', [22, 20.5], (at) => [
  [load('a', [1, 2]), load('b', [11, 12]), call('c', 20), got('c', 21, 'b'), call('d', at), got('d', 23, 'a')],
])
const errors = ['X']
finds(
  8,
  'an error long after the fault',
  [71, 69],
  (at) => [
    [fault(10, 20), call('c', at), failed('c', 72, 'X')],
    [load('a', [1, 2]), call('d', 73), got('d', 74, 'a')],
  ],
  { healsWithin: 50, errors },
)
finds(
  8,
  'an error between two faults',
  [99, 101],
  (at) => [
    [fault(10, 20), call('c', 71), failed('c', at, 'X'), fault(100, 110)],
    [load('a', [170, 171]), call('d', 173), got('d', 174, 'a')],
  ],
  { healsWithin: 50, errors },
)
finds<{ fence?: null }>(
  8,
  'a load without a lease long after the fault',
  [alone, {}],
  (lease) => [fault(10, 20), call('c', 71), load('a', [72, 73], { by: 'c', ...lease }), got('c', 74, 'a')],
  { healsWithin: 50 },
)
finds(
  8,
  'silence after the fault',
  [5, 71],
  (at) => [load('a', [1, 2]), fault(10, 20), call('c', at), got('c', at + 1, 'a'), load('b', [320, 321])],
  { healsWithin: 50 },
)

describe('the judge of histories', () => {
  test.for(cases)('finds $name (invariant $invariant), and nothing wrong where it is nearly so', (each) => {
    const { invariant, broken, kept, allowed } = each
    const found = violations(new History(flat(broken)), allowed)
    expect(found.map((words) => words.slice(0, 2))).toEqual([`${invariant}:`])
    expect(violations(new History(flat(kept)), allowed)).toEqual([])
  })
})
