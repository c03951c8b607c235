import type { CacheError } from '../errors.ts'
import { shape } from '../options/checks.ts'

/** Makes the traces of a cache's loads and waits. It must not throw: its errors reach the callers. */
export interface Tracer {
  /**
   * Begins a trace, in the asynchronous context of the caller. `claim`: this process claims the lease of a key, which
   * may become a load, a wait, or neither. `load`: a load without a lease. `wait`: a caller joins a flight of another
   * caller here. Hits are not traced.
   */
  begin(what: 'claim' | 'load' | 'wait', key: string): Trace
}

/** A trace of one claim, load or wait. */
export interface Trace {
  /** The context that waiters receive, here and in other processes: up to 256 characters; `''` for none. */
  readonly context: string
  /** A claim has become a load or a wait. */
  becomes(what: 'load' | 'wait'): void
  /** This trace waits for the one with that context. */
  follows(context: string): void
  /** Runs the loader, or code that runs it, within the trace. */
  run<T>(work: () => T): T
  /** Ends the trace; only the first call counts. */
  end(outcome: TraceOutcome, error?: CacheError): void
}

/**
 * How a trace ended. `value`: a value was loaded, or was the answer of the wait; `failed`, `pass` (doNotStore), `again`
 * (the load was voided) and `away` (the store does not answer) likewise. `lease`: the wait ended with a lease for a
 * load here. `lost`: the lease was lost. `left`: the caller stopped waiting.
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

/** The tracer of one cache, if it has one. */
export class Tracing {
  #tracer: Tracer | null = null

  /**
   * Sets the tracer; returns a function that removes it.
   * @throws TypeError if it is not a tracer, or if the cache has one already
   */
  follow(tracer: Tracer): () => void {
    checkTracer('tracer', tracer)
    if (this.#tracer !== null) throw new TypeError('Expected a cache that nobody traces: it has a tracer already')
    this.#tracer = tracer
    return () => {
      if (this.#tracer === tracer) this.#tracer = null
    }
  }

  /** Whether there is a tracer. */
  get isFollowed(): boolean {
    return this.#tracer !== null
  }

  begin(what: 'claim' | 'load' | 'wait', key: string): Trace {
    return this.#tracer === null ? untraced : this.#tracer.begin(what, key)
  }
}

/**
 * The trace of one flight: a claim, which becomes a wait or a load; after a wait, the trace of the step that follows.
 */
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

  /** @param context the context of the load that is waited for */
  waits(context: string): void {
    this.#waits = true
    this.#trace.becomes('wait')
    this.#trace.follows(context)
  }

  /** The awaited load was voided: the flight claims anew. */
  again(): void {
    this.#next('again', 'claim')
  }

  loads(): void {
    if (!this.#waits) return this.#trace.becomes('load')
    const { context } = this.#trace
    this.#next('lease', 'load')
    // The claim has published that context as the name of this load.
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

/** A context that fits a claim. A longer one becomes empty, because a part of it would name another trace. */
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
