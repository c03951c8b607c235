/**
 * What happened in a fleet, as one list: the calls and their answers, the loads, the writes, and what was done to whom.
 * Processes note it themselves, by a clock that all of them share; invariants.ts judges it.
 */

/** A value as it comes from the source: it says of itself what it is for and who made it. */
export interface Made {
  readonly key: string
  /** Which load or set, in the whole fleet. */
  readonly by: string
}

/** The numbers `call`, `load` and `write` are told apart in the whole fleet. Moments are milliseconds, no two the same. */
export type Happening =
  /** A caller asks. `within`: how long it is ready to wait, `grace`: how old a value it takes, in milliseconds. */
  | { what: 'call'; at: number; process: number; call: string; key: string; within: number; grace?: number }
  /** It is answered: with a value, or with the code of an error and, if that says so, the load that failed. */
  /** `by`: the load that failed; of another error, its words. */
  | { what: 'answer'; at: number; process: number; call: string; value?: unknown; error?: string; by?: string }
  /**
   * A loader begins to run, for the call that brought it; `fence` is `null` without a lease, and then `trouble` is the
   * last command of its process that failed. `ttl` and `grace`: how long its value may be served, in milliseconds.
   */
  | {
      what: 'load'
      at: number
      process: number
      load: string
      call: string
      key: string
      fence: string | null
      ttl?: number
      grace?: number
      trouble?: string
    }
  /** Its signal is aborted. */
  | { what: 'lost'; at: number; process: number; load: string; code: string }
  /** It returns, throws, or returns something that must not be stored. */
  | { what: 'loaded'; at: number; process: number; load: string; ends: 'value' | 'error' | 'pass' }
  /**
   * A set or an invalidation, hard or soft (`expire`), is about to be sent, and has resolved, or was rejected with the code of an error. `within`:
   * how many milliseconds that may take; `ttl`: for how many the value may be served.
   */
  | {
      what: 'write'
      at: number
      process: number
      write: string
      key: string
      kind: 'set' | 'invalidate' | 'expire'
      within?: number
      ttl?: number
    }
  | { what: 'written'; at: number; process: number; write: string; error?: string }
  /** The process runs nothing from here on: for good, or until it goes on. */
  | { what: 'killed' | 'stopped' | 'resumed'; at: number; process: number }
  /** Something is done to the surroundings, and undone. */
  | { what: 'fault' | 'healed'; at: number; name: string }
  /** The leases that Redis has at a moment are read, all of them. */
  | { what: 'seen'; at: number; leases: readonly SeenLease[] }

/** A lease as it stands in Redis. */
export interface SeenLease {
  readonly key: string
  readonly token: string
  readonly fence: string
  /** The process that it names; `null` for one that is none of the fleet. */
  readonly process: number | null
}

/** In place of a process of the fleet: the one that plays, whose proxies carry all that the others send and are sent. */
export const player = -1

type Of<What extends Happening['what']> = Extract<Happening, { what: What }>

/** A call, with its answer if it has one. */
export interface Call extends Of<'call'> {
  readonly answer: Of<'answer'> | undefined
}

/** A run of a loader; what has not come to an end, or is not known to, ends at infinity. */
export interface Load extends Of<'load'> {
  /** When the caller asked whose loader it is: its lease was claimed later. */
  readonly asked: number
  /** How long that caller is ready to wait, in milliseconds. */
  readonly within: number
  readonly loadedAt: number
  readonly ends: Of<'loaded'>['ends'] | undefined
  readonly lostAt: number
  readonly lostFor: string | undefined
}

export interface Write extends Of<'write'> {
  readonly writtenAt: number
  readonly error: string | undefined
}

/** A time in which a process runs nothing, or a fault lasts. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** A list of happenings, put together into calls, loads and writes. */
export class History {
  readonly happenings: readonly Happening[]
  readonly calls: readonly Call[]
  readonly loads: ReadonlyMap<string, Load>
  readonly writes: ReadonlyMap<string, Write>
  /** What was read of the leases in Redis, in its order. */
  readonly seen: readonly Of<'seen'>[]
  /** The last moment there is. */
  readonly end: number
  readonly #killed: ReadonlyMap<number, number>
  readonly #stops: ReadonlyMap<number, readonly Span[]>
  readonly #passes: ReadonlyMap<string, readonly number[]>

  /**
   * @param end until when it has been watched; by default until the last happening
   * @param undecided calls that are not part of `calls`, although their loads are known by them
   */
  constructor(happenings: readonly Happening[], end?: number, undecided: ReadonlySet<Happening> = new Set()) {
    const sorted = happenings.toSorted((one, other) => one.at - other.at)
    const calls = new Map<string, Mutable<Call>>()
    const loads = new Map<string, Mutable<Load>>()
    const writes = new Map<string, Mutable<Write>>()
    const killed = new Map<number, number>()
    const seen: Of<'seen'>[] = []
    for (const each of sorted) {
      switch (each.what) {
        case 'call':
          calls.set(each.call, { ...each, answer: undefined })
          break
        case 'answer': {
          const call = calls.get(each.call)
          if (call !== undefined) call.answer ??= each
          break
        }
        case 'load': {
          const { at: asked, within } = calls.get(each.call) ?? { at: each.at, within: Infinity }
          const open = { loadedAt: Infinity, ends: undefined, lostAt: Infinity, lostFor: undefined }
          loads.set(each.load, { ...each, asked, within, ...open })
          break
        }
        case 'loaded':
          update(loads.get(each.load), { loadedAt: each.at, ends: each.ends })
          break
        case 'lost':
          update(loads.get(each.load), { lostAt: each.at, lostFor: each.code })
          break
        case 'write':
          writes.set(each.write, { ...each, writtenAt: Infinity, error: undefined })
          break
        case 'written':
          update(writes.get(each.write), { writtenAt: each.at, error: each.error })
          break
        case 'killed':
          killed.set(each.process, each.at)
          break
        case 'stopped':
        case 'resumed':
        case 'fault':
        case 'healed':
          break
        case 'seen':
          seen.push(each)
      }
    }
    this.happenings = sorted
    this.end = end ?? sorted.at(-1)?.at ?? 0
    this.calls = sorted.flatMap((each) => {
      const call = each.what === 'call' && !undecided.has(each) ? calls.get(each.call) : undefined
      return call === undefined ? [] : [call]
    })
    this.loads = loads
    this.writes = writes
    this.seen = seen
    this.#killed = killed
    this.#stops = stopsIn(sorted)
    this.#passes = passesIn(loads.values())
  }

  /** The loads that ran without a lease although nobody had said that their key is one for which nobody queues. */
  alone(): Load[] {
    return [...this.loads.values()].filter(({ key, at, fence, ends }) => {
      if (fence !== null || ends === 'pass') return false
      const passes = this.#passes.get(key) ?? []
      return passes.every((passed) => passed > at || passed < at - passLasts)
    })
  }

  /** When a process ran nothing: stopped, or killed and so for good. */
  stops(process: number): readonly Span[] {
    return this.#stops.get(process) ?? []
  }

  /** For how much of the time between two moments a process ran nothing, in milliseconds. */
  stood(process: number, from: number, to: number): number {
    return within(this.stops(process), from, to)
  }

  /** When a process was killed; `Infinity` if it was not. */
  killedAt(process: number): number {
    return this.#killed.get(process) ?? Infinity
  }

  /** The times in which faults last, each from its beginning to its end. */
  faults(): Span[] {
    const spans: Span[] = []
    const open = new Map<string, number>()
    for (const each of this.happenings) {
      if (each.what === 'fault') open.set(each.name, each.at)
      if (each.what !== 'healed') continue
      const from = open.get(each.name)
      if (from !== undefined) spans.push({ from, to: each.at })
      open.delete(each.name)
    }
    return [...spans, ...[...open.values()].map((from) => ({ from, to: Infinity }))]
  }
}

/** How long after a result that must not be stored nobody queues for its key, and until the last one has heard of it. */
export const passLasts = 1_500

function passesIn(loads: Iterable<Load>): Map<string, number[]> {
  const passes = new Map<string, number[]>()
  for (const { key, ends, loadedAt } of loads) {
    if (ends !== 'pass') continue
    const ofKey = passes.get(key) ?? []
    ofKey.push(loadedAt)
    passes.set(key, ofKey)
  }
  return passes
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] }

function update<T extends object>(one: T | undefined, change: Partial<T>): void {
  if (one !== undefined) Object.assign(one, change)
}

function stopsIn(happenings: readonly Happening[]): Map<number, Span[]> {
  const stops = new Map<number, Span[]>()
  for (const each of happenings) {
    if (each.what !== 'killed' && each.what !== 'stopped' && each.what !== 'resumed') continue
    const { what, at, process } = each
    const spans = stops.get(process) ?? []
    const last = spans.at(-1)
    stops.set(process, spans)
    if (what !== 'resumed') {
      if (last === undefined || last.to <= at) spans.push({ from: at, to: Infinity })
    } else if (last?.to === Infinity) {
      spans[spans.length - 1] = { from: last.from, to: at }
    }
  }
  return stops
}

/** What a caller was told comes from: the load or the set, or `''`. */
export function makerOf({ answer }: Call): string {
  const { by } = (answer?.value ?? {}) as Partial<Made>
  return by ?? answer?.by ?? ''
}

/** A load believes in its lease until it ends, is told that it is lost, or dies with its process. */
export function endOfBelief(history: History, load: Load): number {
  return Math.min(load.loadedAt, load.lostAt, Math.max(load.at, history.killedAt(load.process)), history.end)
}

/** How much of the time between two moments lies in any of the spans, in milliseconds. */
export function within(spans: readonly Span[], from: number, to: number): number {
  let sum = 0
  for (const span of spans) sum += Math.max(0, Math.min(span.to, to) - Math.max(span.from, from))
  return sum
}

/** The same time, in spans of which none begins before the last one has ended. */
export function joined(spans: readonly Span[]): Span[] {
  const all: Span[] = []
  for (const { from, to } of spans.toSorted((one, other) => one.from - other.from)) {
    const last = all.at(-1)
    if (last === undefined || last.to < from) all.push({ from, to })
    else all[all.length - 1] = { from: last.from, to: Math.max(last.to, to) }
  }
  return all
}
