import { describe, expect, test } from 'vitest'
import { History, player, type Happening, type Write } from '../../support/history.ts'
import { violations, type Allowances } from '../../support/invariants.ts'

type Options = { process?: number; key?: string }

function call(
  id: string,
  at: number,
  { process = 0, key = 'k', within = 1_000 }: Options & { within?: number } = {},
): Happening {
  return { what: 'call', at, process, call: id, key, within }
}

/** The caller is told what a load or a set has made. */
function got(id: string, at: number, by: string, { process = 0, key = 'k' }: Options = {}): Happening {
  return { what: 'answer', at, process, call: id, value: { key, by } }
}

function failed(id: string, at: number, error: string, { process = 0, by }: Options & { by?: string } = {}): Happening {
  return { what: 'answer', at, process, call: id, error, ...(by === undefined ? {} : { by }) }
}

/** Up to `to` it runs, with a lease unless told otherwise. */
function load(
  id: string,
  [from, to]: readonly [number, number],
  {
    process = 0,
    key = 'k',
    by = '',
    fence = id,
    ends = 'value',
  }: Options & { by?: string; fence?: string | null; ends?: 'value' | 'error' | 'pass' } = {},
): Happening[] {
  const began: Happening = { what: 'load', at: from, process, load: id, call: by, key, fence }
  return to === Infinity ? [began] : [began, { what: 'loaded', at: to, process, load: id, ends }]
}

function lost(id: string, at: number, process = 0): Happening {
  return { what: 'lost', at, process, load: id, code: 'LEASE_LOST' }
}

function write(
  id: string,
  [from, to]: readonly [number, number],
  { process = 0, kind = 'invalidate', error }: Options & { kind?: Write['kind']; error?: string } = {},
): Happening[] {
  const ended: Happening = { what: 'written', at: to, process, write: id, ...(error === undefined ? {} : { error }) }
  return [
    { what: 'write', at: from, process, write: id, key: 'k', kind, within: 100 },
    ...(to === Infinity ? [] : [ended]),
  ]
}

/** So many invalidations, one after the other. */
function voids(count: number, from: number): Happening[] {
  return Array.from({ length: count }, (_, number) =>
    write(`w${number}`, [from + 2 * number, from + 2 * number + 1]),
  ).flat()
}

function process(what: 'killed' | 'stopped' | 'resumed', at: number, number = 0): Happening {
  return { what, at, process: number }
}

function stood([from, to]: readonly [number, number], number = 0): Happening[] {
  return [process('stopped', from, number), process('resumed', to, number)]
}

function fault(from: number, to: number): Happening[] {
  return [
    { what: 'fault', at: from, name: 'it' },
    { what: 'healed', at: to, name: 'it' },
  ]
}

interface Case {
  readonly invariant: number
  /** What is wrong. */
  readonly name: string
  readonly broken: readonly Happening[]
  /** Nearly the same, and nothing is wrong with it. */
  readonly kept: readonly Happening[]
  readonly allowed?: Allowances
}

const cases: Case[] = [
  {
    invariant: 1,
    name: 'two loads that both have the lease',
    broken: [...load('a', [10, 50]), ...load('b', [40, 80], { process: 1 })],
    kept: [...load('a', [10, 50]), ...load('b', [51, 80], { process: 1 })],
  },
  {
    invariant: 1,
    name: 'two loads that both have the lease, although a write has voided an earlier one',
    broken: [...write('w', [1, 5]), ...load('a', [10, 50]), ...load('b', [40, 80], { process: 1 })],
    kept: [...write('w', [20, 35], { process: 2 }), ...load('a', [10, 50]), ...load('b', [40, 80], { process: 1 })],
  },
  {
    invariant: 1,
    name: 'a holder that is told too late',
    broken: [...load('a', [10, 90]), lost('a', 60), ...load('b', [40, 80], { process: 1 })],
    kept: [...load('a', [10, 90]), lost('a', 39), ...load('b', [40, 80], { process: 1 })],
  },
  {
    invariant: 1,
    name: 'two loads that both have the lease for longer than is allowed',
    broken: [...load('a', [10, 90]), ...load('b', [40, 80], { process: 1 })],
    kept: [...load('a', [10, 60]), ...load('b', [40, 80], { process: 1 })],
    allowed: { overlap: 30 },
  },
  {
    invariant: 1,
    name: 'a holder that goes on although it stood still for too long',
    broken: [
      ...load('a', [10, 200]),
      process('stopped', 20),
      ...load('b', [100, 180], { process: 1 }),
      process('resumed', 150),
    ],
    kept: [
      ...load('a', [10, 200]),
      process('stopped', 20),
      ...load('b', [100, 180], { process: 1 }),
      process('resumed', 190),
    ],
  },
  {
    invariant: 1,
    name: 'a lease that is taken from a process that lives',
    broken: [...load('a', [10, 100]), ...load('b', [60, 100], { process: 1 })],
    kept: [...load('a', [10, Infinity]), process('killed', 50), ...load('b', [60, 100], { process: 1 })],
  },
  {
    invariant: 1,
    name: 'three loads at once in one process without a lease',
    broken: ['a', 'b', 'c'].flatMap((id, index) => load(id, [10 + index, 50 + index], { fence: null })),
    kept: ['a', 'b', 'c'].flatMap((id, index) => load(id, [10 + index, 50 + index], { fence: null, process: index })),
  },
  {
    invariant: 2,
    name: 'the value of a lost load that reaches a later caller',
    broken: [...load('a', [10, 50]), lost('a', 40), call('c', 20), got('c', 60, 'a')],
    kept: [call('c', 5), ...load('a', [10, 50]), lost('a', 40), got('c', 60, 'a')],
  },
  {
    invariant: 2,
    name: 'the value of a lost load that reaches another process',
    broken: [call('c', 5, { process: 1 }), ...load('a', [10, 50]), lost('a', 40), got('c', 60, 'a', { process: 1 })],
    kept: [call('c', 5, { process: 1 }), ...load('a', [10, 50]), lost('a', 51), got('c', 60, 'a', { process: 1 })],
  },
  {
    invariant: 3,
    name: 'a value from before an invalidation',
    broken: [...load('a', [10, 20]), ...write('w', [30, 40], { process: 1 }), call('c', 41), got('c', 45, 'a')],
    kept: [...load('a', [10, 20]), ...write('w', [30, 40], { process: 1 }), call('c', 39), got('c', 45, 'a')],
  },
  {
    invariant: 3,
    name: 'a value whose load began before an invalidation and ended after it',
    broken: [...load('a', [29, 50]), ...write('w', [30, 40], { process: 1 }), call('c', 41), got('c', 60, 'a')],
    kept: [...load('a', [31, 50]), ...write('w', [30, 40], { process: 1 }), call('c', 41), got('c', 60, 'a')],
  },
  {
    invariant: 3,
    name: 'a value that was set before another was',
    broken: [
      ...write('v', [10, 20], { kind: 'set' }),
      ...write('w', [30, 40], { kind: 'set', process: 1 }),
      call('c', 41),
      got('c', 45, 'v'),
    ],
    kept: [
      ...write('v', [10, 35], { kind: 'set' }),
      ...write('w', [30, 40], { kind: 'set', process: 1 }),
      call('c', 41),
      got('c', 45, 'v'),
    ],
  },
  {
    invariant: 3,
    name: 'the error of a load from before a soft invalidation, which leaves values stale',
    broken: [
      ...load('a', [10, 20], { ends: 'error' }),
      ...write('w', [30, 40], { kind: 'expire' }),
      call('c', 41),
      failed('c', 45, 'LOAD_FAILED', { by: 'a' }),
    ],
    kept: [...load('a', [10, 20]), ...write('w', [30, 40], { kind: 'expire' }), call('c', 41), got('c', 45, 'a')],
  },
  {
    invariant: 3,
    name: 'the error of a load from before an invalidation',
    broken: [
      ...load('a', [10, 20], { ends: 'error' }),
      ...write('w', [30, 40], { process: 1 }),
      call('c', 41),
      failed('c', 45, 'LOAD_FAILED', { by: 'a' }),
    ],
    kept: [
      ...load('a', [10, 20], { ends: 'error' }),
      ...write('w', [30, 40], { process: 1, error: 'STORE_UNAVAILABLE' }),
      call('c', 41),
      failed('c', 45, 'LOAD_FAILED', { by: 'a' }),
    ],
  },
  {
    invariant: 3,
    name: 'an invalidation that was forgotten at a time when none may be',
    broken: [...load('a', [10, 20]), ...write('w', [30, 40], { process: 1 }), call('c', 41), got('c', 45, 'a')],
    kept: [...load('a', [10, 20]), ...write('w', [51, 60], { process: 1 }), call('c', 61), got('c', 65, 'a')],
    allowed: { forgotten: [{ from: 50, to: 70 }] },
  },
  {
    invariant: 4,
    name: 'a caller who is answered too late',
    broken: [call('c', 10), ...load('a', [20, 2_000]), got('c', 2_011, 'a')],
    kept: [call('c', 10), ...load('a', [20, 2_000]), got('c', 2_009, 'a')],
  },
  {
    invariant: 4,
    name: 'a caller who is answered too late although its process stood still',
    broken: [
      call('c', 10),
      process('stopped', 20),
      process('resumed', 500),
      ...load('a', [600, 700]),
      got('c', 2_500, 'a'),
    ],
    kept: [
      call('c', 10),
      process('stopped', 20),
      process('resumed', 520),
      ...load('a', [600, 700]),
      got('c', 2_500, 'a'),
    ],
  },
  {
    invariant: 4,
    name: 'a caller who has no answer',
    broken: [call('c', 10), call('d', 20), ...load('a', [30, 40]), got('d', 50, 'a')],
    kept: [
      call('c', 10),
      call('d', 20, { process: 1 }),
      ...load('a', [30, 40]),
      got('d', 50, 'a'),
      process('killed', 60),
    ],
  },
  {
    invariant: 4,
    name: 'an error that is not allowed',
    broken: [call('c', 10), failed('c', 20, 'WAIT_TIMEOUT')],
    kept: [call('c', 10), failed('c', 20, 'CLOSED')],
    allowed: { errors: ['CLOSED'] },
  },
  {
    invariant: 4,
    name: 'a failure without a load that failed',
    broken: [...load('a', [12, 18]), call('c', 10), failed('c', 20, 'LOAD_FAILED')],
    kept: [...load('a', [12, 18], { ends: 'error' }), call('c', 10), failed('c', 20, 'LOAD_FAILED')],
  },
  {
    invariant: 4,
    name: 'the failure of a load that did not fail',
    broken: [
      ...load('a', [12, 14], { ends: 'error' }),
      ...load('b', [15, 18]),
      call('c', 10),
      failed('c', 20, 'LOAD_FAILED', { by: 'b' }),
    ],
    kept: [
      ...load('a', [12, 14], { ends: 'error' }),
      ...load('b', [15, 18]),
      call('c', 10),
      failed('c', 20, 'LOAD_FAILED', { by: 'a' }),
    ],
  },
  {
    invariant: 4,
    name: 'a caller who sleeps through the end of the load',
    broken: [call('c', 10, { process: 1 }), ...load('a', [20, 40]), got('c', 91, 'a', { process: 1 })],
    kept: [call('c', 10, { process: 1 }), ...load('a', [20, 40]), got('c', 89, 'a', { process: 1 })],
    allowed: { wakeUp: 50 },
  },
  {
    invariant: 4,
    name: 'a caller who sleeps through the end of the load, while all that lies between turns',
    broken: [call('c', 10, { process: 1 }), ...load('a', [20, 40]), got('c', 121, 'a', { process: 1 })],
    kept: [
      call('c', 10, { process: 1 }),
      ...load('a', [20, 40]),
      ...stood([50, 90], player),
      got('c', 121, 'a', { process: 1 }),
    ],
    allowed: { wakeUp: 50 },
  },
  {
    invariant: 4,
    name: 'a caller who sleeps while nothing newer is loaded',
    broken: [...load('a', [1, 2]), call('c', 10), ...load('b', [20, 40], { ends: 'error' }), got('c', 95, 'a')],
    kept: [...load('a', [1, 2]), call('c', 10), ...load('b', [20, 90], { ends: 'error' }), got('c', 95, 'a')],
    allowed: { wakeUp: 50 },
  },
  {
    invariant: 4,
    name: 'a write that does not end',
    broken: [...write('w', [10, Infinity]), call('c', 1_200), failed('c', 1_201, 'X')],
    kept: [...write('w', [110, Infinity]), call('c', 1_200), failed('c', 1_201, 'X')],
    allowed: { errors: ['X'] },
  },
  {
    invariant: 4,
    name: 'a write that fails for no good reason',
    broken: write('w', [10, 20], { error: 'LOAD_FAILED' }),
    kept: write('w', [10, 20], { error: 'STORE_UNAVAILABLE' }),
  },
  {
    invariant: 4,
    name: 'an error in a process that nothing was done to',
    broken: [call('c', 10), failed('c', 20, 'CLOSED')],
    kept: [call('c', 10, { process: 1 }), failed('c', 20, 'CLOSED', { process: 1 })],
    allowed: { errors: ['CLOSED'], hit: [1] },
  },
  {
    invariant: 4,
    name: 'a failed write in a process that nothing was done to',
    broken: write('w', [10, 20], { error: 'STORE_UNAVAILABLE' }),
    kept: write('w', [10, 20], { error: 'STORE_UNAVAILABLE', process: 1 }),
    allowed: { hit: [1] },
  },
  {
    invariant: 4,
    name: 'a load without a lease in a process that nothing was done to',
    broken: load('a', [10, 20], { fence: null }),
    kept: [...load('a', [10, 20], { fence: null, process: 1 }), ...load('b', [30, 40], { fence: null, ends: 'pass' })],
    allowed: { hit: [1] },
  },
  {
    invariant: 4,
    name: 'a load without a lease long after a result that must not be stored',
    broken: [...load('p', [10, 20], { fence: null, ends: 'pass' }), ...load('a', [2_000, 2_010], { fence: null })],
    kept: [...load('p', [10, 20], { fence: null, ends: 'pass' }), ...load('a', [1_000, 1_010], { fence: null })],
    allowed: { hit: [] },
  },
  {
    invariant: 4,
    name: 'a load without a lease after five others were voided',
    broken: [call('c', 9), ...voids(4, 10), ...load('a', [100, 110], { by: 'c', fence: null }), got('c', 112, 'a')],
    kept: [call('c', 9), ...voids(5, 10), ...load('a', [100, 110], { by: 'c', fence: null }), got('c', 112, 'a')],
    allowed: { hit: [] },
  },
  {
    invariant: 4,
    name: 'a load without a lease after two others were voided, before half of its patience is over',
    broken: [
      call('c', 9, { within: 300 }),
      ...voids(2, 10),
      ...load('a', [100, 110], { by: 'c', fence: null }),
      got('c', 112, 'a'),
    ],
    kept: [
      call('c', 9, { within: 100 }),
      ...voids(2, 10),
      ...load('a', [100, 110], { by: 'c', fence: null }),
      got('c', 112, 'a'),
    ],
    allowed: { hit: [] },
  },
  {
    invariant: 4,
    name: 'a late load without a lease, though only one other was voided and none was taken over',
    broken: [
      call('c', 9, { within: 100 }),
      ...voids(1, 10),
      ...load('a', [100, 110], { by: 'c', fence: null }),
      got('c', 112, 'a'),
    ],
    kept: [
      ...load('x', [8, 90], { fence: '1', process: 1 }),
      call('c', 9, { within: 100 }),
      ...load('y', [50, 80], { fence: '2', process: 2 }),
      ...voids(1, 85),
      ...load('a', [100, 110], { by: 'c', fence: null }),
      got('c', 112, 'a'),
    ],
    allowed: { hit: [], overlap: 100 },
  },
  {
    invariant: 4,
    name: 'a late load without a lease, though its process had not stood still while others ran that nobody took over',
    broken: [
      call('c', 9, { within: 1_000 }),
      ...load('x', [10, 300], { by: 'c' }),
      ...load('y', [310, 590], { by: 'c' }),
      ...load('a', [600, 610], { by: 'c', fence: null }),
      got('c', 612, 'a'),
    ],
    kept: [
      call('c', 9, { within: 1_000 }),
      ...load('x', [10, 300], { by: 'c' }),
      ...stood([50, 260]),
      ...load('y', [310, 590], { by: 'c' }),
      ...stood([350, 560]),
      ...load('a', [600, 610], { by: 'c', fence: null }),
      got('c', 612, 'a'),
    ],
    allowed: { hit: [], leaseTtl: 300 },
  },
  {
    invariant: 5,
    name: "another key's value",
    broken: [...load('a', [1, 2], { key: 'l' }), call('c', 10), got('c', 20, 'a', { key: 'l' })],
    kept: [...load('a', [1, 2], { key: 'l' }), call('c', 10, { key: 'l' }), got('c', 20, 'a', { key: 'l' })],
  },
  {
    invariant: 5,
    name: 'a value that says it is for this key, but was made for another',
    broken: [...load('a', [1, 2], { key: 'l' }), call('c', 10), got('c', 20, 'a')],
    kept: [...load('a', [1, 2]), call('c', 10), got('c', 20, 'a')],
  },
  {
    invariant: 5,
    name: 'a value that nobody can have made',
    broken: [call('c', 10), { what: 'answer', at: 20, process: 0, call: 'c', value: undefined }],
    kept: [call('c', 10), got('c', 20, 'made by somebody who was killed')],
  },
  {
    invariant: 6,
    name: 'an older value after a newer one',
    broken: [
      ...load('a', [1, 2]),
      ...load('b', [11, 12]),
      call('c', 20),
      got('c', 21, 'b'),
      call('d', 22),
      got('d', 23, 'a'),
    ],
    kept: [
      ...load('a', [1, 2]),
      ...load('b', [11, 12]),
      call('c', 20),
      call('d', 20.5),
      got('c', 21, 'b'),
      got('d', 23, 'a'),
    ],
  },
  {
    invariant: 8,
    name: 'an error long after the fault',
    broken: [
      ...fault(10, 20),
      call('c', 71),
      failed('c', 72, 'X'),
      ...load('a', [1, 2]),
      call('d', 73),
      got('d', 74, 'a'),
    ],
    kept: [
      ...fault(10, 20),
      call('c', 69),
      failed('c', 72, 'X'),
      ...load('a', [1, 2]),
      call('d', 73),
      got('d', 74, 'a'),
    ],
    allowed: { healsWithin: 50, errors: ['X'] },
  },
  {
    invariant: 8,
    name: 'an error between two faults',
    broken: [
      ...fault(10, 20),
      call('c', 71),
      failed('c', 99, 'X'),
      ...fault(100, 110),
      ...load('a', [170, 171]),
      call('d', 173),
      got('d', 174, 'a'),
    ],
    kept: [
      ...fault(10, 20),
      call('c', 71),
      failed('c', 101, 'X'),
      ...fault(100, 110),
      ...load('a', [170, 171]),
      call('d', 173),
      got('d', 174, 'a'),
    ],
    allowed: { healsWithin: 50, errors: ['X'] },
  },
  {
    invariant: 8,
    name: 'a load without a lease long after the fault',
    broken: [...fault(10, 20), call('c', 71), ...load('a', [72, 73], { by: 'c', fence: null }), got('c', 74, 'a')],
    kept: [...fault(10, 20), call('c', 71), ...load('a', [72, 73], { by: 'c' }), got('c', 74, 'a')],
    allowed: { healsWithin: 50 },
  },
  {
    invariant: 8,
    name: 'silence after the fault',
    broken: [...load('a', [1, 2]), call('c', 5), got('c', 6, 'a'), ...fault(10, 20), ...load('b', [320, 321])],
    kept: [...load('a', [1, 2]), ...fault(10, 20), call('c', 71), got('c', 72, 'a'), ...load('b', [320, 321])],
    allowed: { healsWithin: 50 },
  },
]

describe('the judge of histories', () => {
  test.for(cases)('finds $name (invariant $invariant)', ({ invariant, broken, allowed }) => {
    const found = violations(new History(broken), allowed)
    expect(found.map((words) => words.slice(0, 2))).toEqual([`${invariant}:`])
  })

  test.for(cases)('finds nothing wrong where there is nearly $name', ({ kept, allowed }) => {
    expect(violations(new History(kept), allowed)).toEqual([])
  })

  test('takes time in proportion to what happened: 100 000 happenings are judged in seconds', () => {
    const happenings: Happening[] = []
    for (let number = 0; happenings.length < 100_000; number++) {
      const [at, key] = [number * 2, `k${number % 20}`]
      const where = { key, process: number % 4 }
      if (number % 10 === 0) happenings.push(...load(`l${number}`, [at, at + 19], { ...where, by: `c${number}` }))
      if (number % 50 === 0) happenings.push(...write(`w${number}`, [at, at + 1], where))
      if (number % 500 === 0) happenings.push(process('stopped', at, 1), process('resumed', at + 0.5, 1))
      const answer =
        number % 30 === 0
          ? failed(`c${number}`, at + 20, 'LOAD_FAILED', where)
          : got(`c${number}`, at + 20, 'gone', where)
      happenings.push(call(`c${number}`, at, where), answer)
    }
    const began = performance.now()
    violations(new History(happenings), { wakeUp: 50, hit: [], healsWithin: 100 })
    expect(performance.now() - began).toBeLessThan(5_000)
  })
})
