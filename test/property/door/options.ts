import fc from 'fast-check'
import { jsonCodec, memoryStore, type Clock, type Codec } from '../../../src/index.ts'
import { systemClock } from '../../../src/core/time/clock.ts'
import { bounds, durations, isOnEdge, worth } from './durations.ts'
import type { Outcome } from './outcome.ts'
import { anything } from './values.ts'

/** What an option may be: the values to try, and which of them it can have. */
interface Option {
  readonly values: fc.Arbitrary<unknown>
  readonly allows: (value: unknown) => boolean
}

/** The options of a function, by name. */
export type Options = Readonly<Record<string, Option>>

const [life, lifeOrNone, timer, timerOrNone, lease] = bounds

function duration(of: (typeof bounds)[number]): Option {
  const allows = (value: unknown): boolean => {
    const ms = worth(value)
    return ms !== null && ms >= of.least && ms <= of.most
  }
  const clear = durations.filter((value) => !isOnEdge(worth(value) ?? 0, of))
  return { values: fc.oneof(clear, fc.nat(1_000), fc.constantFrom('5m', '250ms', '1.5h')), allows }
}

function whole(least: number, most = Number.MAX_SAFE_INTEGER): Option {
  const values = fc.oneof(
    fc.integer({ min: -2, max: 100 }),
    fc.constantFrom<unknown>(0.5, most + 1, 2 ** 53, Infinity, Number.NaN, '1', '64mb', null, 1n, [1], {}),
    anything.filter((value) => typeof value !== 'number'),
  )
  return { values, allows: (value) => Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most }
}

function oneOf(...words: string[]): Option {
  const values = fc.oneof(fc.constantFrom(...words), fc.constantFrom('', 'LOAD', null, true, words), anything)
  return { values, allows: (value) => words.includes(value as string) }
}

/** An object of some kind: good ones, and others that are almost like them. */
function kind(good: readonly object[], almost: readonly unknown[]): Option {
  const values = fc.oneof(fc.constantFrom(...good), fc.constantFrom(...almost), anything)
  return { values, allows: (value) => good.includes(value as object) }
}

const namespace: Option = {
  values: fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }),
    fc.constantFrom(
      '',
      'shop',
      'a:b',
      '%3A',
      '__proto__',
      'é',
      'a{b',
      '}',
      '\n',
      '\0',
      '\x7f',
      '\u0085',
      '\ud800',
      '💥',
    ),
    fc.integer({ min: 195, max: 205 }).map((length) => 'n'.repeat(length)),
    anything,
  ),
  allows: (value) =>
    typeof value === 'string' &&
    value.length >= 1 &&
    value.length <= 200 &&
    value.isWellFormed() &&
    value.split('').every((letter) => letter !== '{' && letter !== '}' && !isControl(letter.charCodeAt(0))),
}

function isControl(code: number): boolean {
  return code < 0x20 || (code >= 0x7f && code < 0xa0)
}

const store = memoryStore()

/** The same object with one of its methods gone, or no method any more. */
function without(whole: object, method: string): readonly unknown[] {
  return [undefined, null, 1, {}].map((other) => Object.assign(Object.create(whole) as object, { [method]: other }))
}

const signals = [new AbortController().signal, AbortSignal.timeout(86_400_000)]
const codecs: Codec[] = [
  jsonCodec(),
  { encode: (value) => Buffer.from(JSON.stringify(value)), decode: (p) => JSON.parse(p.toString()) as unknown },
]
const clocks: Clock[] = [systemClock, { now: () => 5, after: () => ({ cancel: () => undefined }) }]

const forCalls: Options = {
  ttl: duration(life),
  grace: duration(lifeOrNone),
  leaseTtl: duration(lease),
  waitTimeout: duration(timer),
  softTimeout: duration(timerOrNone),
  hardTimeout: duration(timer),
  failureCooldown: duration(timerOrNone),
  onStoreFailure: oneOf('load', 'throw'),
  maxValueSize: whole(1),
  unstorable: oneOf('pass', 'throw'),
}

/** What each function of the library that takes options knows. */
export const known = {
  createCache: {
    ...forCalls,
    store: kind(
      [store],
      [memoryStore, {}, 'redis://:hunter2@localhost', ...without(store, 'ping'), ...without(store, 'open')],
    ),
    namespace,
    maxConcurrentLoads: whole(1),
    maxQueuedLoads: whole(0),
    onInvalidateFailure: oneOf('throw', 'replay'),
    commandTimeout: duration(timer),
    codec: kind(codecs, [JSON, jsonCodec, { encode: 1, decode: 2 }, { encode: () => null }]),
    clock: kind(clocks, [Date, performance, { now: 1, after: () => null }]),
  },
  getOrLoad: {
    ...forCalls,
    signal: kind(signals, [new AbortController(), new EventTarget(), { aborted: false, addEventListener: () => null }]),
  },
  set: { ttl: duration(life), grace: duration(lifeOrNone) },
  close: { timeout: duration(timerOrNone) },
  memoryStore: {
    max: whole(1, 16_777_216),
    maxSize: whole(1),
    clock: kind(clocks, [Date, performance, { now: 1, after: () => null }]),
  },
  redisStore: { wakeUp: oneOf('push', 'poll') },
} satisfies Record<string, Options>

/** Options for a function: some that it knows, right and wrong, and now and then one that it does not. */
export function optionsOf(options: Options): fc.Arbitrary<unknown> {
  const { store: always } = options
  const names = Object.keys(options)
  const given = fc.constantFrom(...names).chain((name) => {
    const { values, allows } = options[name] as Option
    // Most are right: where many are given, a single wrong one is enough to be refused for.
    const right = values.filter(allows)
    return fc.tuple(fc.constant(name), fc.oneof({ arbitrary: right, weight: 5 }, { arbitrary: values, weight: 1 }))
  })
  const unknown = fc.tuple(
    fc.oneof(
      fc.constantFrom('tll', 'TTL', 'ttl ', '', '0', 'toString', '__proto__', 'constructor', 'x'.repeat(300)),
      fc.string({ unit: 'binary' }),
      fc.constantFrom(...names).map((name) => `${name}s`),
    ),
    anything,
  )
  const entries = fc.array(fc.oneof({ arbitrary: given, weight: 12 }, { arbitrary: unknown, weight: 1 }), {
    maxLength: 5,
  })
  const object = fc
    .tuple(fc.constantFrom(Object.prototype, null, { ttl: -1, tll: 1 }, class {}.prototype as object), entries)
    // A store is not made without cost: most are given one.
    .map(([prototype, all]) => withEntries(prototype, always && all.length > 0 ? [['store', store], ...all] : all))
  return fc.oneof(
    { arbitrary: object, weight: 20 },
    fc.constantFrom<unknown>([], new Map([['ttl', -1]]), undefined, null, 5, 'ttl', '', true, 1n, () => 1),
    anything.filter(isObject),
  )
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function withEntries(prototype: object | null, entries: readonly (readonly [string, unknown])[]): object {
  const made: object = Object.create(prototype)
  for (const [key, value] of entries) {
    Object.defineProperty(made, key, { value, enumerable: true, configurable: true, writable: true })
  }
  return made
}

/** The names of the options for which a function has to refuse what it is given; `null` if it has to take it. */
function faultsIn(given: unknown, options: Options): readonly string[] | null {
  if (given === undefined) return null
  if (!isObject(given) || Array.isArray(given) || given instanceof Map || given instanceof Set) return ['']
  const faults = Object.entries(given)
    .filter(([name, value]) => {
      const option = Object.hasOwn(options, name) ? options[name] : undefined
      return option === undefined || (value !== undefined && !option.allows(value))
    })
    .map(([name]) => name)
  return faults.length === 0 ? null : faults
}

/** What is wrong with how a function took its options, or refused them; `null` for nothing. */
export function wronglyTaken(given: unknown, options: Options, outcome: Outcome): unknown {
  const faults = faultsIn(given, options)
  const isRight = 'value' in outcome ? faults === null && outcome.value === true : names(outcome.thrown, faults ?? [])
  return isRight ? null : outcome
}

/** Whether an error is a TypeError that names one of these options, and is no longer than an error should be. */
function names(error: unknown, faults: readonly string[]): boolean {
  if (!(error instanceof TypeError) || error.message.length > 1_000 || error.message.includes('hunter2')) return false
  return faults.some((fault) => {
    const name = `\`${fault.slice(0, 60)}\``
    if (fault === '') return /^Expected the options of \w+ to be an object|^Unknown option `` of /.test(error.message)
    return error.message.startsWith(`Expected ${name} to be `) || error.message.startsWith(`Unknown option ${name} of `)
  })
}
