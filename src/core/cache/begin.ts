import type { Stale } from '../codec/payload.ts'
import { errorForCallers, throwToCaller } from '../codec/load-failures.ts'
import type { Validators } from '../contract/store.ts'
import { unstoredFacts } from '../entry/freshness.ts'
import { CacheError, quoted } from '../errors.ts'
import type { Answer } from '../flight/answer.ts'
import type { Beginning } from '../flight/caller.ts'
import type { LoadContext, Loader } from '../flight/loader.ts'
import { checkOptions } from '../options/checks.ts'
import type { Duration } from '../time/duration.ts'
import type { Loaded } from './cache.ts'

/** The options of `fill`, over those of `begin`. */
export interface FillOptions {
  /** The ttl of this value, in milliseconds or as `'5m'`. Default: that of `begin`. */
  readonly ttl?: Duration | undefined
  /** How long it may be served stale after its ttl. Default: that of `begin`. */
  readonly grace?: Duration | undefined
  /** Tags besides those of `begin`. Default: none. */
  readonly tags?: readonly string[] | undefined
  /** `etag` and `lastModified` of this value, which the next leader gets with the stale value. Default: none. */
  readonly validators?: Validators | undefined
}

/**
 * The outcome of `fill`. `stored`: the value is that of the key. `voided`: it came too late, because the key or a tag
 * was invalidated since `begin`, or the lease was lost; no caller gets it. `unstored`: the store is away or the value
 * cannot be stored; the waiting callers of this process get it. `over`: the load had ended before, by another call, its
 * `hardTimeout` or `close`; no caller gets it.
 */
export type FillOutcome = 'stored' | 'voided' | 'unstored' | 'over'

/**
 * The lead in a load: everybody else in the fleet waits, or is served the stale value, until one of its three methods
 * ends the load. Only the first call counts; after it, and after the end of the load, they do nothing.
 */
export interface Lead<T> {
  readonly state: 'lead'
  readonly key: string
  /** The value that the load will replace, with its age in milliseconds; `null` if there is none. */
  readonly stale: Stale | null
  /** The fencing token of the load; `null` if it has no lease. */
  readonly fence: bigint | null
  /** Aborts when a value would come too late, with LEASE_LOST, LOAD_TIMEOUT or CLOSED as its reason. */
  readonly signal: AbortSignal

  /**
   * Ends the load with a value.
   * @returns the outcome
   * @throws TypeError for a wrong option, which does not end the load; `CacheError` VALUE_INVALID, and with
   *   `unstorable: 'throw'` VALUE_TOO_LARGE and VALUE_NOT_SERIALIZABLE
   */
  fill(value: T, options?: FillOptions): Promise<FillOutcome>

  /** Ends the load with an error, which all waiting callers get, as if a loader had thrown it. Never rejects. */
  fail(error: unknown): Promise<void>

  /**
   * Ends the load without an outcome, as `doNotStore` of a loader does: each waiting caller leads a load of its own.
   * @param passFor how long no caller waits for another. Default 1 s
   * @throws TypeError unless `passFor` is a duration
   */
  skip(passFor?: Duration): void
}

/** The answer of `begin`: a value with what is known of it, or the lead. */
export type Begun<T, In = T> = Loaded<T> | Lead<In>

const fillChecks = Object.fromEntries(
  ['ttl', 'grace', 'tags', 'validators'].map((name) => [name, (_: string, value: unknown) => value]),
)

/** A call of `begin`, which may be answered with the lead. */
export class LeadQuestion implements Beginning {
  readonly #takesLeave: () => boolean
  readonly #expired: (error: CacheError) => void
  #lead: OpenLead | null = null
  #give!: (answer: Begun<unknown>) => void

  /**
   * @param takesLeave takes the caller out of the wait; returns `false` if it has been answered
   * @param expired called with LOAD_TIMEOUT if a leader has called none of its methods
   */
  constructor(takesLeave: () => boolean, expired: (error: CacheError) => void) {
    this.#takesLeave = takesLeave
    this.#expired = expired
  }

  /** The loader of the load that it may lead. */
  readonly loader: Loader<unknown> = (context) => {
    // Answered or gone since the load was granted: the shortest pass there is, so that no other caller waits in vain.
    if (!this.#takesLeave()) return context.doNotStore(1)
    this.#lead = new OpenLead(context, this.#expired)
    this.#give(this.#lead)
    return this.#lead.loaded
  }

  /** The lead, or the answer if that comes first. */
  answer(ask: () => Promise<Loaded<unknown>>): Promise<Begun<unknown>> {
    return new Promise((resolve, reject) => {
      this.#give = resolve
      // That of one that leads comes too late to matter.
      ask().then(resolve, reject)
    })
  }

  ended(answer: Answer): void {
    this.#lead?.ended(answer)
  }

  overdue(): void {
    this.#lead?.endLoad()
  }
}

/** The lead in a load that is under way: what its leader calls settles the promise that its loader has returned. */
class OpenLead implements Lead<unknown> {
  readonly state = 'lead'
  readonly key: string
  readonly stale: Stale | null
  readonly fence: bigint | null
  /** What the loader returns. */
  readonly loaded: Promise<unknown>
  readonly #context: LoadContext
  readonly #expired: (error: CacheError) => void
  #resolve!: (value: unknown) => void
  #reject!: (error: unknown) => void
  #tell!: (outcome: FillOutcome | CacheError) => void
  readonly #outcome = new Promise<FillOutcome | CacheError>((resolve) => (this.#tell = resolve))
  /** Why a call does nothing any more. */
  #refusal: 'voided' | 'over' | null = null

  constructor(context: LoadContext, expired: (error: CacheError) => void) {
    this.key = context.key
    this.stale = context.stale
    this.fence = context.fence
    this.#context = context
    this.#expired = expired
    this.loaded = new Promise((...settle) => ([this.#resolve, this.#reject] = settle))
  }

  get signal(): AbortSignal {
    return this.#context.signal
  }

  async fill(value: unknown, options: FillOptions = {}): Promise<FillOutcome> {
    if (this.#refusal !== null) {
      this.endLoad()
      return this.#refusal
    }
    const { ttl, grace, tags, validators }: FillOptions = checkOptions('fill', options, fillChecks)
    const context = this.#context
    if (ttl !== undefined) context.ttl(ttl)
    if (grace !== undefined) context.grace(grace)
    if (validators !== undefined) context.validators(validators)
    if (tags !== undefined) context.tags(...tags)
    this.#refusal = 'over'
    this.#resolve(value)
    const outcome = await this.#outcome
    return outcome instanceof CacheError ? throwToCaller(errorForCallers(outcome)) : outcome
  }

  async fail(error: unknown): Promise<void> {
    if (this.#refusal !== null) return this.endLoad()
    this.#refusal = 'over'
    this.#reject(error)
    await this.#outcome
  }

  skip(passFor?: Duration): void {
    if (this.#refusal !== null) return this.endLoad()
    this.#context.doNotStore(passFor)
    this.#refusal = 'over'
    this.#resolve(undefined)
  }

  /**
   * The leader has ended its work. Until then it counts as a load that runs: its source has no place for another, though
   * the value is not wanted any more.
   */
  endLoad(): void {
    this.#resolve(undefined)
  }

  /** The load has ended; while the store is away, one that has lost its lease goes on without it, and ends once more. */
  ended(answer: Answer): void {
    this.#tell(outcomeOf(answer))
    if (this.#refusal !== null || answer.state === 'away') return
    this.#refusal = answer.state === 'again' ? 'voided' : 'over'
    if (answer.state !== 'pass') return
    const message = `The lead in loading ${quoted(this.key)} was never filled, failed or skipped, and has expired`
    this.#expired(new CacheError('LOAD_TIMEOUT', message, { key: this.key }))
  }
}

/** The outcome that the end of a load means for its leader. */
function outcomeOf(answer: Answer): FillOutcome | CacheError {
  switch (answer.state) {
    case 'value':
      return answer.facts === unstoredFacts ? 'unstored' : 'stored'
    case 'failed':
      return answer.error.code.startsWith('VALUE_') ? answer.error : 'over'
    case 'again':
      return 'voided'
    case 'pass':
      return 'over'
    case 'away':
      return 'unstored'
  }
}
