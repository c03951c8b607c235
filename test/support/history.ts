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
  /** A caller asks. `within`: how long it is ready to wait, in milliseconds. */
  | { what: 'call'; at: number; process: number; call: string; key: string; within: number }
  /** It is answered: with a value, or with the code of an error. */
  | { what: 'answer'; at: number; process: number; call: string; value?: unknown; error?: string }
  /** A loader begins to run, for the call that brought it; `fence` is `null` without a lease. */
  | { what: 'load'; at: number; process: number; load: string; call: string; key: string; fence: string | null }
  /** Its signal is aborted. */
  | { what: 'lost'; at: number; process: number; load: string; code: string }
  /** It returns, throws, or returns something that must not be stored. */
  | { what: 'loaded'; at: number; process: number; load: string; ends: 'value' | 'error' | 'pass' }
  /** A set or an invalidation is about to be sent, and has resolved, or was rejected with the code of an error. */
  | { what: 'write'; at: number; process: number; write: string; key: string; kind: 'set' | 'invalidate' }
  | { what: 'written'; at: number; process: number; write: string; error?: string }
  /** The process runs nothing from here on: for good, or until it goes on. */
  | { what: 'killed' | 'stopped' | 'resumed'; at: number; process: number }
  /** Something is done to the surroundings, and undone. */
  | { what: 'fault' | 'healed'; at: number; name: string }

type Of<What extends Happening['what']> = Extract<Happening, { what: What }>

/** A call, with its answer if it has one. */
export interface Call extends Of<'call'> {
  readonly answer: Of<'answer'> | undefined
}

/** A run of a loader; what has not come to an end, or is not known to, ends at infinity. */
export interface Load extends Of<'load'> {
  /** When the caller asked whose loader it is: its lease was claimed later. */
  readonly asked: number
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
  /** The last moment there is. */
  readonly end: number
  readonly #killed: ReadonlyMap<number, number>

  constructor(happenings: readonly Happening[]) {
    const sorted = happenings.toSorted((one, other) => one.at - other.at)
    const first = <What extends Happening['what']>(what: What, id: (happening: Of<What>) => string) => {
      const found = new Map<string, Of<What>>()
      for (const happening of sorted as Of<What>[]) {
        if (happening.what === what && !found.has(id(happening))) found.set(id(happening), happening)
      }
      return found
    }
    const asked = first('call', ({ call }) => call)
    const answers = first('answer', ({ call }) => call)
    const loaded = first('loaded', ({ load }) => load)
    const lost = first('lost', ({ load }) => load)
    const written = first('written', ({ write }) => write)
    this.happenings = sorted
    this.end = sorted.at(-1)?.at ?? 0
    this.#killed = new Map(sorted.flatMap((each) => (each.what === 'killed' ? [[each.process, each.at]] : [])))
    this.calls = [...asked.values()].map((call) => ({ ...call, answer: answers.get(call.call) }))
    this.loads = new Map(
      [...first('load', ({ load }) => load)].map(([id, load]) => {
        const ending = {
          asked: asked.get(load.call)?.at ?? load.at,
          loadedAt: loaded.get(id)?.at ?? Infinity,
          ends: loaded.get(id)?.ends,
          lostAt: lost.get(id)?.at ?? Infinity,
          lostFor: lost.get(id)?.code,
        }
        return [id, { ...load, ...ending }]
      }),
    )
    this.writes = new Map(
      [...first('write', ({ write }) => write)].map(([id, write]) => {
        const { at = Infinity, error } = written.get(id) ?? {}
        return [id, { ...write, writtenAt: at, error }]
      }),
    )
  }

  /** When a process ran nothing: stopped, or killed and so for good. */
  stops(process: number): Span[] {
    const spans: Span[] = []
    for (const happening of this.happenings) {
      if (!('process' in happening) || happening.process !== process) continue
      const last = spans.at(-1)
      if (happening.what === 'killed' || happening.what === 'stopped') {
        if (last === undefined || last.to <= happening.at) spans.push({ from: happening.at, to: Infinity })
      } else if (happening.what === 'resumed' && last?.to === Infinity) {
        spans[spans.length - 1] = { from: last.from, to: happening.at }
      }
    }
    return spans
  }

  /** When a process was killed; `Infinity` if it was not. */
  killedAt(process: number): number {
    return this.#killed.get(process) ?? Infinity
  }

  /** The times in which faults last, each from its beginning to its end. */
  faults(): Span[] {
    const spans: Span[] = []
    const open = new Map<string, number>()
    for (const { what, at, ...rest } of this.happenings) {
      if (what === 'fault') open.set((rest as { name: string }).name, at)
      if (what !== 'healed') continue
      const from = open.get((rest as { name: string }).name)
      if (from !== undefined) spans.push({ from, to: at })
      open.delete((rest as { name: string }).name)
    }
    return [...spans, ...[...open.values()].map((from) => ({ from, to: Infinity }))]
  }
}

/** How much of the time between two moments lies in any of the spans, in milliseconds. */
export function within(spans: readonly Span[], from: number, to: number): number {
  let sum = 0
  for (const span of spans) sum += Math.max(0, Math.min(span.to, to) - Math.max(span.from, from))
  return sum
}
