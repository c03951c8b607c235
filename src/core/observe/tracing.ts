import type { CacheError } from '../errors.ts'
import { shape } from '../options/checks.ts'

/** What makes traces of the loads and waits of a cache. It must not throw: what it throws, calls are met with. */
export interface Tracer {
  /**
   * This process asks for the lease of a key (`claim`), which may come to a load or a wait or to neither; or it begins a
   * `load` without one; or a caller begins to `wait` for what another has begun here. Called in the asynchronous context
   * of the caller. Of hits it is not told.
   */
  begin(what: 'claim' | 'load' | 'wait', key: string): Trace
}

/** One of them. */
export interface Trace {
  /** What others are told who wait for it, here and in other processes: up to 256 characters; `''` for nothing. */
  readonly context: string
  /** What was begun as a claim is one of these. */
  becomes(what: 'load' | 'wait'): void
  /** It waits for the one with this context. */
  follows(context: string): void
  /** Runs the loader, or what runs it. */
  run<T>(work: () => T): T
  /** It is over; only the first call counts. */
  end(outcome: TraceOutcome, error?: CacheError): void
}

/**
 * `value`: it was loaded, or the answer of the wait. `failed`, `pass` (doNotStore), `again` (the load was voided) and `away`
 * (the store does not answer) likewise. `lease`: the wait came to a load of its own. `lost`: the lease, and so the load.
 * `left`: the caller waits no more.
 */
export type TraceOutcome = 'value' | 'failed' | 'pass' | 'again' | 'away' | 'lease' | 'lost' | 'left'

const longest = 256

const untraced: Trace = {
  context: '',
  becomes: () => undefined,
  follows: () => undefined,
  run: (work) => work(),
  end: () => undefined,
}

const checkTracer = shape('an object with begin()', ['begin'])

/** Who traces one cache, if anybody does. */
export class Tracing {
  #tracer: Tracer | null = null

  /** Throws TypeError for what is no tracer, or while there is another; returns what ends it. */
  follow(tracer: Tracer): () => void {
    checkTracer('tracer', tracer)
    if (this.#tracer !== null) throw new TypeError('Expected a cache that nobody traces: it has a tracer already')
    this.#tracer = tracer
    return () => {
      if (this.#tracer === tracer) this.#tracer = null
    }
  }

  begin(what: 'claim' | 'load' | 'wait', key: string): Trace {
    return this.#tracer === null ? untraced : this.#tracer.begin(what, key)
  }
}

/** What is traced of one flight: a claim, which becomes a wait or a load, and after a wait what comes of it. */
export class FlightTrace {
  readonly #tracing: Tracing
  readonly #key: string
  #trace: Trace
  #waits = false

  constructor(tracing: Tracing, key: string) {
    this.#tracing = tracing
    this.#key = key
    this.#trace = tracing.begin('claim', key)
  }

  get context(): string {
    return this.#trace.context
  }

  /** @param context of the load that is waited for */
  waits(context: string): void {
    this.#waits = true
    this.#trace.becomes('wait')
    this.#trace.follows(context)
  }

  /** What was waited for is void: it is asked for anew. */
  again(): void {
    this.#next('again', 'claim')
  }

  loads(): void {
    if (!this.#waits) return this.#trace.becomes('load')
    const { context } = this.#trace
    this.#next('lease', 'load')
    // Others have been given that for the name of this load.
    this.#trace.follows(context)
  }

  run<T>(work: () => T): T {
    return this.#trace.run(work)
  }

  end(outcome: TraceOutcome, error?: CacheError): void {
    this.#trace.end(outcome, error)
  }

  #next(outcome: TraceOutcome, what: 'claim' | 'load'): void {
    this.#trace.end(outcome)
    this.#waits = false
    this.#trace = this.#tracing.begin(what, this.#key)
  }
}

/** A context as it travels: of one that is too long nothing is left, for a part of it would name something else. */
export function boundContext(context: string | undefined): string {
  return context === undefined || context.length > longest ? '' : context
}

/** Ends a trace with the outcome of a flight. */
export function endTrace(
  trace: Pick<Trace, 'end'>,
  outcome: { readonly state: TraceOutcome; readonly error?: CacheError },
): void {
  trace.end(outcome.state, outcome.error)
}
