import { describe, expect, test } from 'vitest'
import type { Happening } from '../support/history.ts'
import { judged } from './judge.ts'
import type { Asked, Closing, Life, Loading } from './notes.ts'
import type { Schedule } from './schedule.ts'
import type { Run } from './simulate.ts'
import type { Confirmation } from './witness.ts'

/** Two processes and one key, and nothing goes wrong. */
const calm: Schedule = {
  seed: 0,
  processes: 2,
  keys: ['k'],
  options: { ttl: 60_000, grace: 0, leaseTtl: 400, softTimeout: 0, hardTimeout: 200, commandTimeout: 150 },
  most: 100,
  network: {
    distance: 0,
    ordered: true,
    pushed: true,
    bulky: 0,
    lostMessages: 0,
    lost: 0,
    cut: 0,
    resent: 0,
    reconnect: 0,
  },
  tagged: false,
  operations: [],
  faults: [],
}

/** Process 1 is cut off for a while. */
const storm: Schedule = {
  ...calm,
  faults: [{ at: 0, lasts: 300, what: 'cut off', process: 1, aimed: false, how: 'stall' }],
}

/** Nobody reaches the store for a while, and nobody may queue. */
const away: Schedule = {
  ...calm,
  options: { ...calm.options, maxQueuedLoads: 0 },
  faults: [{ at: 0, lasts: 500, what: 'store away', how: 'stall' }],
}

interface Given {
  readonly happenings: readonly Happening[]
  readonly schedule?: Schedule
  readonly asked?: Record<string, Partial<Asked>>
  readonly loading?: Record<string, Partial<Loading>>
  readonly setting?: Record<string, Life>
  readonly closing?: Record<number, Closing>
  readonly confirmed?: readonly Confirmation[]
  readonly sent?: Run['sent'] extends ReadonlyMap<number, infer Sent> ? Sent : never
  readonly leaks?: readonly string[]
}

/** What is wrong with a run that was made up, in which all is normal in the end. */
function wrongWith(given: Given): string[] {
  const last = [
    call('last', 100_000),
    load('end', 100_000, { call: 'last' }),
    loaded('end', 100_020),
    answer('last', 100_020, 'end'),
  ]
  const happenings = [...given.happenings, ...last]
  const asked = happenings.flatMap((each) => (each.what === 'call' ? [each.call] : []))
  const loads = happenings.flatMap((each) => (each.what === 'load' ? [each.load] : []))
  const leased = happenings.filter((each) => each.what === 'load').filter(({ fence }) => fence !== null)
  const run: Run = {
    schedule: given.schedule ?? calm,
    notes: {
      happenings,
      asked: new Map(
        asked.map((id) => [id, { options: {}, by: null, peek: false, leaves: null, ...given.asked?.[id] }]),
      ),
      loading: new Map(
        loads.map((id) => {
          const usual = { plan: { takes: 0, ends: 'value' as const }, ttl: 50, grace: 0, failureCooldown: 100 }
          return [id, { ...usual, ...given.loading?.[id] }]
        }),
      ),
      setting: new Map(Object.entries(given.setting ?? {})),
      closing: new Map(Object.entries(given.closing ?? {}).map(([process, closing]) => [Number(process), closing])),
    },
    settledAt: 90_000,
    lastRound: new Set(['last', 'late']),
    confirmed: new Map([
      [1, given.confirmed ?? leased.map(({ at, fence }) => ({ fence: fence as string, sentAt: at, at }))],
      [2, leased.map(({ at, fence }) => ({ fence: fence as string, sentAt: at, at }))],
    ]),
    sent: new Map([[1, given.sent ?? []]]),
    counts: {},
    told: [],
    leaks: given.leaks ?? [],
  }
  return judged(run)
}

function call(id: string, at: number, { process = 1, within = 31_000 } = {}): Happening {
  return { what: 'call', at, process, call: id, key: 'k', within }
}

function answer(id: string, at: number, by: string, process = 1): Happening {
  return { what: 'answer', at, process, call: id, value: { key: 'k', by } }
}

function refusal(id: string, at: number, error: string, process = 1): Happening {
  return { what: 'answer', at, process, call: id, error }
}

function load(id: string, at: number, { call: of = 'c', process = 1, leased = true } = {}): Happening {
  return { what: 'load', at, process, load: id, call: of, key: 'k', fence: leased ? String(at) : null }
}

function lost(id: string, at: number, code: string, process = 1): Happening {
  return { what: 'lost', at, process, load: id, code }
}

function loaded(id: string, at: number, ends: 'value' | 'error' | 'pass' = 'value', process = 1): Happening {
  return { what: 'loaded', at, process, load: id, ends }
}

function write(
  id: string,
  from: number,
  to: number,
  { process = 2, error = '', kind = 'invalidate' as 'invalidate' | 'set' | 'expire' } = {},
): Happening[] {
  const written = { what: 'written' as const, at: to, process, write: id }
  return [
    { what: 'write', at: from, process, write: id, key: 'k', kind, within: 150 },
    error === '' ? written : { ...written, error },
  ]
}

/** A call that loads. */
function loading(at: number, to: number): Happening[] {
  return [call('c', at), load('l', at), loaded('l', to), answer('c', to, 'l')]
}

/** One of several loads of a call, ten milliseconds each. */
function voided(index: number, leased: boolean): Happening[] {
  const at = 10 * index
  return [load(`l${index}`, at, { leased }), lost(`l${index}`, at + 10, 'LEASE_LOST'), loaded(`l${index}`, at + 10)]
}

const cases: { what: string; wrong: Given; rule: string; right: Given }[] = [
  {
    what: 'a caller with time to spare does not get WAIT_TIMEOUT',
    wrong: {
      schedule: storm,
      happenings: [
        call('c', 0),
        load('l', 0, { leased: false }),
        loaded('l', 31_000),
        refusal('c', 31_000, 'WAIT_TIMEOUT'),
      ],
    },
    rule: '4: call c of k in process 1 at 0.0 got WAIT_TIMEOUT',
    right: {
      happenings: [call('c', 0, { within: 100 }), load('l', 0), loaded('l', 150), refusal('c', 100, 'WAIT_TIMEOUT')],
    },
  },
  {
    what: 'a caller whose cache is open does not get CLOSED',
    wrong: { happenings: [call('c', 0), refusal('c', 0, 'CLOSED')] },
    rule: '4: call c of k in process 1 at 0.0 got CLOSED',
    right: {
      happenings: [call('c', 5), refusal('c', 5, 'CLOSED')],
      closing: { 1: { at: 1, timeout: 0, closedAt: 2, error: null } },
    },
  },
  {
    what: 'an invalidation that is kept holds in its own process',
    wrong: {
      schedule: storm,
      happenings: [
        ...loading(0, 10),
        ...write('w', 20, 170, { process: 1, error: 'KEPT' }),
        call('d', 180),
        answer('d', 180, 'l'),
      ],
    },
    rule: '3: call d of k in process 1 at 180.0 got an answer of 0.0',
    right: {
      schedule: storm,
      happenings: [
        ...loading(0, 10),
        ...write('w', 20, 170, { process: 1, error: 'KEPT' }),
        call('d', 180, { process: 2 }),
        answer('d', 180, 'l', 2),
      ],
    },
  },
  {
    what: 'a value is not served beyond its end',
    wrong: { happenings: [...loading(0, 10), call('d', 70), answer('d', 70, 'l')] },
    rule: 'grace: call d of k in process 1 at 70.0 got a value of k by l',
    right: { happenings: [...loading(0, 10), call('d', 50), answer('d', 50, 'l')] },
  },
  {
    what: 'a value that was softly invalidated is missing without a grace',
    wrong: {
      happenings: [...loading(0, 10), ...write('w', 20, 21, { kind: 'expire' }), call('d', 22), answer('d', 22, 'l')],
    },
    rule: '3: call d of k in process 1 at 22.0 got an answer of 0.0, and write w of k in process 2 at 20.0 has left it 0 ms',
    right: {
      happenings: [...loading(0, 10), ...write('w', 20, 22, { kind: 'expire' }), call('d', 21), answer('d', 21, 'l')],
    },
  },
  {
    what: 'a value that was softly invalidated is served within the grace of its load and its caller',
    wrong: {
      schedule: { ...calm, options: { ...calm.options, grace: 100 } },
      loading: { l: { ttl: 60_000, grace: 30 } },
      happenings: [
        ...loading(0, 10),
        ...write('w', 20, 21, { kind: 'expire' }),
        call('d', 52),
        answer('d', 52, 'l'),
        call('e', 53),
        load('m', 53, { call: 'e' }),
        loaded('m', 60),
        answer('e', 60, 'm'),
      ],
    },
    rule: '3: call d of k in process 1 at 52.0 got an answer of 0.0, and write w of k in process 2 at 20.0 has left it 30 ms',
    right: {
      schedule: { ...calm, options: { ...calm.options, grace: 100 } },
      loading: { l: { ttl: 60_000, grace: 30 } },
      happenings: [
        ...loading(0, 10),
        ...write('w', 20, 21, { kind: 'expire' }),
        call('d', 50),
        load('m', 50, { call: 'd' }),
        answer('d', 50.1, 'l'),
        loaded('m', 60),
      ],
    },
  },
  {
    what: 'a value that is there is served in time',
    wrong: {
      happenings: [
        ...loading(0, 10),
        call('d', 30),
        load('m', 30, { call: 'd' }),
        answer('d', 45, 'l'),
        loaded('m', 50),
      ],
      asked: { d: { options: { softTimeout: 10, grace: 100 } } },
      loading: { l: { ttl: 10, grace: 100 } },
    },
    rule: '4: call d of k in process 1 at 30.0 waited 15.0 ms for the value of load l',
    right: {
      happenings: [
        ...loading(0, 10),
        call('d', 30),
        load('m', 30, { call: 'd' }),
        answer('d', 45, 'l'),
        loaded('m', 50),
      ],
      asked: { d: { options: { softTimeout: 15, grace: 100 } } },
      loading: { l: { ttl: 10, grace: 100 } },
    },
  },
  {
    what: 'a circle is told at once',
    wrong: {
      happenings: [
        call('c', 0),
        load('l', 0),
        call('d', 5, { within: 35 }),
        refusal('d', 40, 'WAIT_TIMEOUT'),
        loaded('l', 50),
        answer('c', 50, 'l'),
      ],
      asked: { d: { by: 'l' } },
    },
    rule: '9: call d of k in process 1 at 5.0 closed a circle',
    right: {
      happenings: [
        call('c', 0),
        load('l', 0),
        call('d', 5),
        answer('d', 5, 'l'),
        loaded('l', 50),
        answer('c', 50, 'l'),
      ],
      asked: { d: { by: 'l' } },
    },
  },
  {
    what: 'no more loads run without a lease than may',
    wrong: {
      schedule: { ...storm, options: { ...calm.options, maxConcurrentLoads: 1 } },
      happenings: [
        call('c', 0),
        call('d', 1),
        load('l', 2, { leased: false }),
        load('m', 3, { call: 'd', leased: false }),
        loaded('l', 10),
        loaded('m', 10),
        answer('c', 10, 'l'),
        answer('d', 10, 'm'),
      ],
    },
    rule: '12: load m of k in process 1 at 3.0 is one of 2',
    right: {
      schedule: { ...storm, options: { ...calm.options, maxConcurrentLoads: 2 } },
      happenings: [
        call('c', 0),
        call('d', 1),
        load('l', 2, { leased: false }),
        load('m', 3, { call: 'd', leased: false }),
        loaded('l', 10),
        loaded('m', 10),
        answer('c', 10, 'l'),
        answer('d', 10, 'm'),
      ],
    },
  },
  {
    what: 'the holder of a lease that is taken hears of it',
    wrong: {
      happenings: [
        call('c', 0),
        load('l', 0),
        ...write('w', 5, 6),
        loaded('l', 50),
        load('m', 50),
        loaded('m', 60),
        answer('c', 60, 'm'),
      ],
    },
    rule: '3: load l of k in process 1 at 0.0 went on until 50.0',
    right: {
      happenings: [
        call('c', 0),
        load('l', 0),
        ...write('w', 5, 6),
        lost('l', 6, 'LEASE_LOST'),
        loaded('l', 50),
        load('m', 6),
        loaded('m', 60),
        answer('c', 60, 'm'),
      ],
    },
  },
  {
    what: 'nobody waits while nobody loads',
    wrong: { happenings: [call('c', 0), load('l', 40), loaded('l', 50), answer('c', 50, 'l')] },
    rule: '4: call c of k in process 1 at 0.0 waited 40.0 of 50.0 ms',
    right: { happenings: [call('c', 0), load('l', 0), loaded('l', 50), answer('c', 50, 'l')] },
  },
  {
    what: 'a value that is fresh is not loaded again',
    wrong: {
      happenings: [
        ...loading(0, 10),
        call('d', 30),
        load('m', 30, { call: 'd' }),
        loaded('m', 35),
        answer('d', 35, 'm'),
      ],
    },
    rule: '1: load m of k in process 1 at 30.0 ran, though load l',
    right: {
      happenings: [
        ...loading(0, 10),
        ...write('w', 20, 21),
        call('d', 30),
        load('m', 30, { call: 'd' }),
        loaded('m', 35),
        answer('d', 35, 'm'),
      ],
    },
  },
  {
    what: 'a value that was set is not loaded as long as it is fresh',
    wrong: {
      happenings: [
        ...write('w', 0, 1, { kind: 'set' }),
        call('d', 30),
        load('m', 30, { call: 'd' }),
        loaded('m', 35),
        answer('d', 35, 'm'),
      ],
      setting: { w: { ttl: 50, grace: 0 } },
    },
    rule: '1: load m of k in process 1 at 30.0 ran, though write w',
    right: {
      happenings: [
        ...write('w', 0, 1, { kind: 'set' }),
        call('d', 60),
        load('m', 60, { call: 'd' }),
        loaded('m', 65),
        answer('d', 65, 'm'),
      ],
      setting: { w: { ttl: 50, grace: 0 } },
    },
  },
  {
    what: 'a source that failed is left alone for a while',
    wrong: {
      happenings: [
        call('c', 0),
        load('l', 0),
        loaded('l', 10, 'error'),
        refusal('c', 10, 'LOAD_FAILED'),
        call('d', 30),
        load('m', 30, { call: 'd' }),
        loaded('m', 35),
        answer('d', 35, 'm'),
      ],
    },
    rule: '5: load m of k in process 1 at 30.0 ran, though load l',
    right: {
      happenings: [
        call('c', 0),
        load('l', 0),
        loaded('l', 10, 'error'),
        refusal('c', 10, 'LOAD_FAILED'),
        call('d', 130),
        load('m', 130, { call: 'd' }),
        loaded('m', 135),
        answer('d', 135, 'm'),
      ],
    },
  },
  {
    what: 'what must not be stored does not make others queue',
    wrong: {
      happenings: [
        call('c', 0),
        load('l', 0),
        loaded('l', 10, 'pass'),
        answer('c', 10, 'l'),
        call('d', 30),
        load('m', 30, { call: 'd' }),
        loaded('m', 35),
        answer('d', 35, 'm'),
      ],
    },
    rule: '11: load m of k in process 1 at 30.0 ran, though load l',
    right: {
      happenings: [
        call('c', 0),
        load('l', 0),
        loaded('l', 10, 'pass'),
        answer('c', 10, 'l'),
        call('d', 30),
        load('m', 30, { call: 'd', leased: false }),
        loaded('m', 35),
        answer('d', 35, 'm'),
      ],
      loading: { l: { plan: { takes: 0, ends: 'pass' } } },
    },
  },
  {
    what: 'a lease is not lost for nothing',
    wrong: {
      happenings: [
        call('c', 0),
        load('l', 0),
        lost('l', 5, 'LEASE_LOST'),
        loaded('l', 6),
        load('m', 5),
        loaded('m', 9),
        answer('c', 9, 'm'),
      ],
    },
    rule: '3: load l of k in process 1 at 0.0 lost its lease at 5.0',
    right: {
      happenings: [
        call('c', 0),
        load('l', 0),
        ...write('w', 3, 5),
        lost('l', 5, 'LEASE_LOST'),
        loaded('l', 6),
        load('m', 5),
        loaded('m', 9),
        answer('c', 9, 'm'),
      ],
    },
  },
  {
    what: 'a load has a lease where there is one to be had',
    wrong: { happenings: [call('c', 0), load('l', 0, { leased: false }), loaded('l', 5), answer('c', 5, 'l')] },
    rule: '1: load l of k in process 1 at 0.0 had no lease',
    right: {
      schedule: storm,
      happenings: [call('c', 0), load('l', 0, { leased: false }), loaded('l', 5), answer('c', 5, 'l')],
    },
  },
  {
    what: 'nobody believes in a lease beyond its ttl',
    wrong: {
      happenings: loading(10, 450),
      confirmed: [
        { fence: '10', sentAt: 5, at: 10 },
        { fence: '100000', sentAt: 100_000, at: 100_000 },
      ],
    },
    rule: '3: load l of k in process 1 at 10.0 believed in its lease until 450.0, and could do so until 405.0',
    right: {
      happenings: loading(10, 450),
      confirmed: [
        { fence: '10', sentAt: 5, at: 10 },
        { fence: '10', sentAt: 60, at: 70 },
        { fence: '100000', sentAt: 100_000, at: 100_000 },
      ],
    },
  },
  {
    what: 'nobody waits for a place where nobody may',
    wrong: {
      schedule: away,
      happenings: [call('c', 10), load('l', 400, { leased: false }), loaded('l', 410), answer('c', 410, 'l')],
    },
    rule: '12: load l of k in process 1 at 400.0 had waited since 10.0, for no place',
    right: {
      schedule: { ...away, options: { ...away.options, maxQueuedLoads: 1, maxConcurrentLoads: 1 } },
      happenings: [call('c', 10), load('l', 400, { leased: false }), loaded('l', 410), answer('c', 410, 'l')],
    },
  },
  {
    what: 'nothing but pings is sent into a silence',
    wrong: {
      schedule: away,
      happenings: [],
      sent: [
        { at: 10, command: 'read' },
        { at: 170, command: 'read' },
      ],
    },
    rule: '12: process 1 sent 1 commands into a silence that it knew of since 161.5',
    right: {
      schedule: away,
      happenings: [],
      sent: [
        { at: 10, command: 'read' },
        { at: 170, command: 'ping' },
      ],
    },
  },
  {
    what: 'nobody takes part in voided loads for ever',
    wrong: {
      schedule: storm,
      happenings: [
        call('c', 0),
        ...Array.from({ length: 6 }, (_, index) => voided(index, index < 6)).flat(),
        answer('c', 60, 'l5'),
      ],
    },
    rule: '2: call c of k in process 1 at 0.0 made 6 loads with a lease',
    right: {
      schedule: storm,
      happenings: [
        call('c', 0),
        ...Array.from({ length: 6 }, (_, index) => voided(index, index < 5)).flat(),
        answer('c', 60, 'l5'),
      ],
    },
  },
  {
    what: 'fences grow',
    wrong: {
      happenings: [
        ...loading(0, 5),
        call('d', 60),
        { ...load('m', 60, { call: 'd' }), fence: '0' } as Happening,
        loaded('m', 65),
        answer('d', 65, 'm'),
      ],
    },
    rule: '14: load m of k in process 1 at 60.0 has fence 0',
    right: {
      happenings: [
        ...loading(0, 5),
        call('d', 60),
        load('m', 60, { call: 'd' }),
        loaded('m', 65),
        answer('d', 65, 'm'),
      ],
    },
  },
  {
    what: 'closing comes to an end',
    wrong: { happenings: [], closing: { 2: { at: 0, timeout: 50, closedAt: 600, error: null } } },
    rule: '13: process 2 had not closed',
    right: { happenings: [], closing: { 2: { at: 0, timeout: 50, closedAt: 60, error: null } } },
  },
  {
    what: 'nothing is left behind',
    wrong: { happenings: [], leaks: ['3 timers are left'] },
    rule: '7: 3 timers are left',
    right: { happenings: [] },
  },
]

describe('of a run that is only simulated', () => {
  for (const { what, wrong, rule, right } of cases) {
    test(`it is noticed whether ${what}`, () => {
      expect(wrongWith(wrong)).toEqual([expect.stringContaining(rule)])
      expect(wrongWith(right)).toEqual([])
    })
  }

  test('it is noticed whether all is normal in the end', () => {
    const late = [
      call('late', 100_001, { process: 2 }),
      load('again', 100_020, { call: 'late', process: 2 }),
      loaded('again', 100_040, 'value', 2),
      answer('late', 100_040, 'again', 2),
    ]
    expect(wrongWith({ happenings: late }).map((each) => each.slice(0, 40))).toContain(
      '8: in the end 2 calls of k made 2 loads ',
    )
  })
})
