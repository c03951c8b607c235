import { describe, expect, test } from 'vitest'
import * as made from '../support/made-up.ts'
import { call, failed, flat, got, lost, write, type Story } from '../support/made-up.ts'
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
  limits: null,
  operations: [],
  faults: [],
}

/** The same, and loads use a source, one at a time, or three in a second. */
const limited: Schedule = { ...calm, limits: { concurrency: 1, maxQueued: 1_000, adaptive: false } }
const rated: Schedule = {
  ...calm,
  limits: { rate: { loads: 3, per: 1_000 }, maxQueued: 1_000, adaptive: false },
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
  readonly happenings?: Story
  readonly schedule?: Schedule
  readonly asked?: Record<string, Partial<Asked>>
  readonly loading?: Record<string, Partial<Loading>>
  readonly setting?: Record<string, Life>
  readonly closing?: Record<number, Closing>
  readonly confirmed?: readonly Confirmation[]
  readonly sent?: Run['sent'] extends ReadonlyMap<number, infer Sent> ? Sent : never
  readonly usersKnown?: readonly { readonly at: number; readonly users: number }[]
  readonly leaks?: readonly string[]
}

/** What is wrong with a run that was made up, in which all is normal in the end. */
function wrongWith(given: Given): string[] {
  const last = [call('last', 100_000), load('end', [100_000, 100_020], { by: 'last' }), got('last', 100_020, 'end')]
  const happenings = flat([given.happenings ?? [], last])
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
    usersKnown: new Map([[1, [...(given.usersKnown ?? [])]]]),
    counts: {},
    told: [],
    leaks: given.leaks ?? [],
  }
  return judged(run)
}

/** A load of the call `c`, unless told otherwise. */
function load(id: string, span: readonly [number, number], options: Parameters<typeof made.load>[2] = {}): Story {
  return made.load(id, span, { by: 'c', ...options })
}

/** A call that loads. */
function loading(at: number, to: number): Story {
  return [call('c', at), load('l', [at, to]), got('c', to, 'l')]
}

/** One more that does. */
function again(at: number, options: Parameters<typeof made.load>[2] = {}): Story {
  return [call('d', at), load('m', [at, at + 5], { by: 'd', ...options }), got('d', at + 5, 'm')]
}

/** One that is given the value of the first. */
function served(at: number, { process = 1 } = {}): Story {
  return [call('d', at, { process }), got('d', at, 'l', { process })]
}

const there = { process: 2 }
const other = { key: 'm' }
const alone = { fence: null }

interface Case {
  readonly what: string
  readonly rule: string
  readonly wrong: Given
  readonly right: Given
}

const cases: Case[] = []

/** The one run is told with what breaks the rule, and with what keeps it. */
function notices<T>(what: string, rule: string, [wrong, right]: readonly [T, T], run: (given: T) => Given): void {
  cases.push({ what, rule, wrong: run(wrong), right: run(right) })
}

notices<[Schedule, within: number, Story]>(
  'a caller with time to spare does not get WAIT_TIMEOUT',
  '4: call c of k in process 1 at 0.0 got WAIT_TIMEOUT',
  [
    [storm, 31_000, load('l', [0, 31_000], alone)],
    [calm, 100, load('l', [0, 150])],
  ],
  ([schedule, within, loads]) => ({
    schedule,
    happenings: [call('c', 0, { within }), loads, failed('c', within, 'WAIT_TIMEOUT')],
  }),
)
notices<Story>(
  'a loader waits for its own process only, and for a voided load of it, too',
  '4: call d of k in process 1 at 20.0 got WAIT_TIMEOUT',
  [
    [call('c', 0, there), load('l', [0, 140], there), got('c', 140, 'l', there)],
    [call('c', 0), load('l', [0, 140]), write('w', [4, 5], { kind: 'set' }), lost('l', 4.5), got('c', 6, 'w')],
  ],
  (older) => ({
    happenings: [
      older,
      [call('e', 11, other), load('n', [11, 150], { by: 'e', ...other }), got('e', 150, 'n', other)],
      [call('d', 20, { within: 100 }), failed('d', 120, 'WAIT_TIMEOUT')],
    ],
    asked: { d: { by: 'n' } },
  }),
)
notices<Given>(
  'a caller whose cache is open does not get CLOSED',
  '4: call c of k in process 1 at 5.0 got CLOSED',
  [{}, { closing: { 1: { at: 1, timeout: 0, closedAt: 2, error: null } } }],
  (closed) => ({ happenings: [call('c', 5), failed('c', 5, 'CLOSED')], ...closed }),
)
notices(
  'an invalidation that is kept holds in its own process',
  '3: call d of k in process 1 at 180.0 got an answer of 0.0',
  [{ process: 1 }, there],
  (where) => ({
    schedule: storm,
    happenings: [loading(0, 10), write('w', [20, 120], { error: 'KEPT' }), served(180, where)],
  }),
)
notices(
  'a value is not served beyond its end',
  'grace: call d of k in process 1 at 70.0 got a value of k by l',
  [70, 50],
  (at) => ({
    happenings: [loading(0, 10), served(at)],
  }),
)
notices(
  'a value that was softly invalidated is missing without a grace',
  '3: call d of k in process 1 at 22.0 got an answer of 0.0, and write w of k in process 2 at 20.0 has left it 0 ms',
  [21, 23],
  (to) => ({ happenings: [loading(0, 10), write('w', [20, to], { kind: 'expire', ...there }), served(22)] }),
)
notices<Story>(
  'a value that was softly invalidated is served within the grace of its load and its caller',
  '3: call d of k in process 1 at 52.0 got an answer of 0.0, and write w of k in process 2 at 20.0 has left it 30 ms',
  [
    [served(52), call('e', 53), load('m', [53, 60], { by: 'e' }), got('e', 60, 'm')],
    [call('d', 50), load('m', [50, 60], { by: 'd' }), got('d', 50.1, 'l')],
  ],
  (later) => ({
    schedule: { ...calm, options: { ...calm.options, grace: 100 } },
    loading: { l: { ttl: 60_000, grace: 30 } },
    happenings: [loading(0, 10), write('w', [20, 21], { kind: 'expire', ...there }), later],
  }),
)
notices(
  'a value that is there is served in time',
  '4: call d of k in process 1 at 30.0 waited 15.0 ms for the value of load l',
  [10, 15],
  (softTimeout) => ({
    happenings: [loading(0, 10), call('d', 30), load('m', [30, 50], { by: 'd' }), got('d', 45, 'l')],
    asked: { d: { options: { softTimeout, grace: 100 } } },
    loading: { l: { ttl: 10, grace: 100 } },
  }),
)
notices<Story>(
  'a circle is told at once',
  '9: call d of k in process 1 at 5.0 closed a circle',
  [
    [call('d', 5, { within: 35 }), failed('d', 40, 'WAIT_TIMEOUT')],
    [call('d', 5), got('d', 5, 'l')],
  ],
  (nested) => ({ happenings: [loading(0, 50), nested], asked: { d: { by: 'l' } } }),
)
notices(
  'no more loads run without a lease than may',
  '12: load m of k in process 1 at 3.0 is one of 2',
  [1, 2],
  (maxConcurrentLoads) => ({
    schedule: { ...storm, options: { ...calm.options, maxConcurrentLoads } },
    happenings: [
      [call('c', 0), load('l', [2, 10], alone), got('c', 10, 'l')],
      [call('d', 1), load('m', [3, 10], { by: 'd', ...alone }), got('d', 10, 'm')],
    ],
  }),
)
notices<[told: Story, next: number]>(
  'the holder of a lease that is taken hears of it',
  '3: load l of k in process 1 at 0.0 went on until 50.0',
  [
    [[], 50],
    [[lost('l', 6)], 6],
  ],
  ([told, next]) => ({
    happenings: [
      [call('c', 0), load('l', [0, 50]), write('w', [5, 6], there), told],
      [load('m', [next, 60]), got('c', 60, 'm')],
    ],
  }),
)
notices(
  'nobody waits while nobody loads',
  '4: call c of k in process 1 at 0.0 waited 40.0 of 50.0 ms',
  [40, 0],
  (at) => ({
    happenings: [call('c', 0), load('l', [at, 50]), got('c', 50, 'l')],
  }),
)
notices<Story>(
  'a value that is fresh is not loaded again',
  '1: load m of k in process 1 at 30.0 ran, though load l',
  [[], write('w', [20, 21], there)],
  (written) => ({ happenings: [loading(0, 10), written, again(30)] }),
)
notices(
  'a value that was set is not loaded as long as it is fresh',
  '1: load m of k in process 1 at 30.0 ran, though write w',
  [30, 60],
  (at) => ({
    happenings: [write('w', [0, 1], { kind: 'set', ...there }), again(at)],
    setting: { w: { ttl: 50, grace: 0 } },
  }),
)
notices(
  'a source that failed is left alone for a while',
  '5: load m of k in process 1 at 30.0 ran, though load l',
  [30, 130],
  (at) => ({
    happenings: [call('c', 0), load('l', [0, 10], { ends: 'error' }), failed('c', 10, 'LOAD_FAILED'), again(at)],
  }),
)
notices<[Parameters<typeof again>[1], Required<Given>['loading']]>(
  'what must not be stored does not make others queue',
  '11: load m of k in process 1 at 30.0 ran, though load l',
  [
    [{}, {}],
    [alone, { l: { plan: { takes: 0, ends: 'pass' } } }],
  ],
  ([lease, plans]) => ({
    happenings: [call('c', 0), load('l', [0, 10], { ends: 'pass' }), got('c', 10, 'l'), again(30, lease)],
    loading: plans,
  }),
)
notices<Story>(
  'a lease is not lost for nothing',
  '3: load l of k in process 1 at 0.0 lost its lease at 5.0',
  [[], write('w', [3, 5], there)],
  (written) => ({
    happenings: [call('c', 0), load('l', [0, 6]), written, lost('l', 5), load('m', [5, 9]), got('c', 9, 'm')],
  }),
)
notices(
  'a load has a lease where there is one to be had',
  '1: load l of k in process 1 at 0.0 had no lease',
  [calm, storm],
  (schedule) => ({ schedule, happenings: [call('c', 0), load('l', [0, 5], alone), got('c', 5, 'l')] }),
)
notices<readonly Confirmation[]>(
  'nobody believes in a lease beyond its ttl',
  '3: load l of k in process 1 at 10.0 believed in its lease until 450.0, and could do so until 405.0',
  [[], [{ fence: '10', sentAt: 60, at: 70 }]],
  (renewed) => ({
    happenings: loading(10, 450),
    confirmed: [{ fence: '10', sentAt: 5, at: 10 }, ...renewed, { fence: '100000', sentAt: 100_000, at: 100_000 }],
  }),
)
notices(
  'nobody waits for a place where nobody may',
  '12: load l of k in process 1 at 400.0 had waited since 10.0, for no place',
  [{}, { maxQueuedLoads: 1, maxConcurrentLoads: 1 }],
  (places) => ({
    schedule: { ...away, options: { ...away.options, ...places } },
    happenings: [call('c', 10), load('l', [400, 410], alone), got('c', 410, 'l')],
  }),
)
notices<Story>(
  'who waits for another process in a silence waits until that asks again',
  '12: load l of k in process 1 at 400.0 had waited since 10.0, for no place',
  [[], [call('d', 0, there), load('m', [1, 5], { by: 'd', ...there }), got('d', 5, 'm', there)]],
  (elsewhere) => ({
    schedule: away,
    happenings: [elsewhere, call('c', 10), load('l', [400, 410], alone), got('c', 410, 'l')],
  }),
)
notices<'value' | 'pass'>(
  'who waits in a silence for an answer that is not shared may load when it is there',
  '12: load l of k in process 1 at 700.0 had waited since 10.0, for no place',
  ['value', 'pass'],
  (ends) => ({
    schedule: { ...away, faults: [{ at: 0, lasts: 900, what: 'store away', how: 'stall' }] },
    happenings: [
      [call('d', 9), load('m', [160, 690], { by: 'd', ends, ...alone }), got('d', 690, 'm')],
      [call('c', 10), load('l', [700, 710], { by: 'c', ...alone }), got('c', 710, 'l')],
    ],
    loading: { m: { plan: { takes: 530, ends } } },
  }),
)
notices<'read' | 'ping'>(
  'nothing but pings is sent into a silence',
  '12: process 1 sent 1 commands into a silence that it knew of since 161.5',
  ['read', 'ping'],
  (command) => ({
    schedule: away,
    sent: [
      { at: 10, command: 'read' },
      { at: 170, command },
    ],
  }),
)
notices(
  'nobody takes part in voided loads for ever',
  '2: call c of k in process 1 at 0.0 made 6 loads with a lease',
  [6, 5],
  (leased) => ({
    schedule: storm,
    happenings: [
      call('c', 0),
      [0, 1, 2, 3, 4, 5].map((index) => [
        load(`l${index}`, [10 * index, 10 * index + 10], index < leased ? {} : alone),
        lost(`l${index}`, 10 * index + 10),
      ]),
      got('c', 60, 'l5'),
    ],
  }),
)
notices('fences grow', '14: load m of k in process 1 at 60.0 has fence 0', ['0', '60'], (fence) => ({
  happenings: [loading(0, 5), again(60, { fence })],
}))
notices('closing comes to an end', '13: process 2 had not closed', [600, 60], (closedAt) => ({
  closing: { 2: { at: 0, timeout: 50, closedAt, error: null } },
}))
notices<number>(
  'no more loads run than the source allows',
  '15: load m of m in process 1 at 5.0 was one of 2, and 1 may run',
  [5, 25],
  (second) => ({
    schedule: limited,
    happenings: [
      [call('c', 0), load('l', [0, 20]), got('c', 20, 'l')],
      [
        call('d', second, other),
        load('m', [second, second + 20], { by: 'd', ...other }),
        got('d', second + 20, 'm', other),
      ],
    ],
  }),
)
notices<string | null>(
  'a load needs no permit of its own only under the loader that waits for it',
  '15: load m of m in process 1 at 5.0 was one of 2, and 1 may run',
  [null, 'l'],
  (by) => ({
    schedule: limited,
    happenings: [
      [call('c', 0), load('l', [0, 20]), got('c', 20, 'l')],
      [call('d', 5, other), load('m', [5, 15], { by: 'd', ...other }), got('d', 15, 'm', other)],
    ],
    asked: { d: { by } },
  }),
)
notices<number>(
  'a process that cannot be heard runs no more loads than its share besides',
  '15: load l3 of n3 in process 1 at 4.0 was one of 4, and 3 may run',
  [2, 1],
  (users) => ({
    schedule: { ...storm, limits: { concurrency: 2, maxQueued: 1_000, adaptive: false } },
    usersKnown: [{ at: -1_000, users }],
    happenings: [0, 1, 2, 3].map((index) => {
      const [by, key] = [`c${index}`, `n${index}`]
      const of = load(`l${index}`, [index + 1, 20], { by, key, ...alone })
      return [call(by, index + 1, { key }), of, got(by, 20, `l${index}`, { key })]
    }),
  }),
)
notices<number>(
  'no more loads begin than the rate allows',
  '15: 4 loads began between 0.0 and 980.0, within 1000 ms',
  [980, 1_100],
  (last) => ({
    schedule: rated,
    happenings: [0, 100, 200, last].map((at, index) => [
      call(`c${index}`, at),
      load(`l${index}`, [at, at + 5], { by: `c${index}` }),
      got(`c${index}`, at + 5, `l${index}`),
    ]),
  }),
)
notices<string[]>('nothing is left behind', '7: 3 timers are left', [['3 timers are left'], []], (leaks) => ({ leaks }))

describe('of a run that is only simulated', () => {
  for (const { what, wrong, rule, right } of cases) {
    test(`it is noticed whether ${what}`, () => {
      expect(wrongWith(wrong)).toEqual([expect.stringContaining(rule)])
      expect(wrongWith(right)).toEqual([])
    })
  }

  test('it is noticed whether a source is used as far as it may be in the end', () => {
    const schedule = { ...limited, keys: ['k', 'm'], limits: { concurrency: 2, maxQueued: 1_000, adaptive: false } }
    const ask = (at: number): Story => [
      call('late', at, other),
      load('more', [at, at + 20], { by: 'late', ...other }),
      got('late', at + 20, 'more', other),
    ]
    expect(wrongWith({ schedule, happenings: ask(100_030) })).toEqual([
      '15: in the end 1 loads ran at a time, and 2 might have',
    ])
    expect(wrongWith({ schedule, happenings: ask(100_010) })).toEqual([])
    // The load of a key that was invalidated again and again pauses first.
    const voids = [write('v', [85_000, 85_001]), write('w', [86_000, 86_001])]
    expect(wrongWith({ schedule, happenings: [voids, ask(100_030)] })).toEqual([])
  })

  test('it is noticed whether all is normal in the end', () => {
    const late = load('again', [100_020, 100_040], { by: 'late', ...there })
    const happenings = [call('late', 100_001, there), late, got('late', 100_040, 'again', there)]
    expect(wrongWith({ happenings }).map((each) => each.slice(0, 40))).toContain(
      '8: in the end 2 calls of k made 2 loads ',
    )
  })
})
