import type { Clock } from '../time/clock.ts'
import type { Deadlines, Due } from '../time/deadlines.ts'
import { loadContexts, type LoadNode } from './circular-load.ts'
import { longestLife, longestTimer, parseDuration, formatValue, type Duration } from '../time/duration.ts'
import { CacheError, isError, loadFailedError, quoted, warnOfThrown } from '../errors.ts'
import { ErrorAnswer } from '../codec/error-answer.ts'
import type { Stale } from '../codec/payload.ts'
import { checkedValue, type Kind } from '../codec/schema.ts'
import { errorTtlOf, ttlOf } from '../entry/freshness.ts'
import type { ErrorKind } from '../options/options.ts'
import type { Plan } from '../options/plan.ts'
import type { Validators } from '../contract/store.ts'
import { checkedTags } from '../entry/tags.ts'
import type { Beginning } from './caller.ts'
import { checkedValidators, validatorsOf } from '../entry/validators.ts'
import type { Permit } from '../source/permit.ts'
import type { Loss } from './loss.ts'

/** Gets a value from the source; may be synchronous. */
export type Loader<T> = (context: LoadContext) => T | Promise<T>

/** The argument of a loader: facts about the load, and methods to describe its result. */
export interface LoadContext {
  /** The key that is loaded. */
  readonly key: string
  /**
   * Aborts when the result is of no use any more. The reason is a `CacheError`: LEASE_LOST (another load has the lease,
   * or the key was invalidated), LOAD_TIMEOUT or CLOSED.
   */
  readonly signal: AbortSignal
  /** The fencing token, which grows with every lease of this key; `null` for a load without a lease. */
  readonly fence: bigint | null
  /** The value that this load will replace, with its age in milliseconds; `null` if there is none. */
  readonly stale: Stale | null
  /** Sets the ttl of this value, over the option. Throws TypeError unless it is a duration. */
  readonly ttl: (ttl: Duration) => void
  /** Sets the grace of this value, over the option. Throws TypeError unless it is a duration. */
  readonly grace: (grace: Duration) => void
  /** Adds tags to those of the option. Throws TypeError for an invalid tag, or for more than 64 in all. */
  readonly tags: (...tags: readonly string[]) => void
  /**
   * Sets the validators of this value, which the next load gets with the stale value. Throws TypeError for invalid
   * ones.
   */
  readonly validators: (validators: Validators) => void
  /**
   * Keeps the stale value for another ttl, with its validators, because the source has nothing newer.
   * @returns the stale value, for the loader to return
   * @throws TypeError if there is no stale value
   */
  readonly notModified: <T>() => T
  /**
   * Gives this result to this caller alone: it is not stored, and for `passFor` callers do not queue for the key.
   * Default 1 s. Throws TypeError unless `passFor` is a duration.
   */
  readonly doNotStore: (passFor?: Duration) => void
}

/** The metadata of a loaded value; times are milliseconds. */
export interface LoadedFacts {
  readonly ttl: number
  readonly grace: number
  readonly loadTime: number
  readonly tags: readonly string[]
  readonly validators: Validators | null
}

/** The result of a loader. */
export type LoadResult =
  | ({ readonly state: 'value'; readonly value: unknown; readonly kind: Kind } & LoadedFacts)
  | { readonly state: 'pass'; readonly value: unknown; readonly passFor: number }
  /** `cooldown`: for how long callers are given the error without another load, in milliseconds. */
  | {
      readonly state: 'failed'
      readonly error: CacheError
      readonly cooldown: number
      /** Those of the call, and those that the loader had added. */
      readonly tags: readonly string[]
    }

/** The run of a loader. `lost`: the lease was lost first; the result still arrives as `ended`. */
export type LoadRun = LoadResult | LostLoad

/** A load whose result is of no use any more. */
export interface LostLoad {
  readonly state: 'lost'
  readonly error: CacheError
  readonly ended: Promise<LoadResult>
}

/**
 * The default of `passFor`, in milliseconds: long enough for a crowd to pass, short enough that a key which has become
 * cacheable again is soon protected.
 */
export const defaultPassFor = 1_000

/** A load to be run. */
interface RunnableLoad {
  readonly key: string
  readonly loader: Loader<unknown>
  readonly plan: Plan
  readonly tags: readonly string[]
  readonly clock: Clock
  /** For its hard timeout. They keep no process alive: the loader may outlive the cache, and waiters have their own. */
  readonly deadlines: Deadlines
  /** The load, as calls of the loader find it. */
  readonly node: LoadNode
  readonly fence: bigint | null
  readonly stale: Stale | null
  /** Ends the wait for the result. */
  readonly loss: Loss
  /** The right to run now; given back when the loader has settled. */
  readonly permit: Permit | null
  /** Set if the loader only tells its caller that it leads: if the leader is too slow, no other caller waits for it. */
  readonly beginning?: Beginning | null
}

/** The loader's statements about its result. */
interface Said {
  readonly ttl: number | null
  readonly grace: number
  readonly tags: readonly string[]
  readonly validators: Validators | null
  readonly passFor: number | null
}

/**
 * The context of one load, which records what the loader says. Its members are its own, because loaders destructure it;
 * they are accessors that all contexts share, because closures and a signal for each cost more than the rest of a load.
 */
class RecordingContext {
  readonly key: string
  readonly fence: bigint | null
  readonly stale: Stale | null
  #ttl: number | null = null
  #grace: number
  #tags: readonly string[]
  #validators: Validators | null = null
  #passFor: number | null = null
  #controller: AbortController | null = null
  #lost: CacheError | null = null

  constructor({ key, fence, stale, plan, tags }: RunnableLoad) {
    this.key = key
    this.fence = fence
    this.stale = stale !== null && ErrorAnswer.is(stale.value) ? null : stale
    this.#grace = plan.grace
    this.#tags = tags
    Object.defineProperties(this, RecordingContext.#members)
  }

  static readonly #members = {
    signal: member((context) => context.#signal()),
    ttl: member((context) => (given: Duration) => {
      context.#ttl = parseDuration('ttl', given, { most: longestLife })
    }),
    grace: member((context) => (given: Duration) => {
      context.#grace = parseDuration('grace', given, { least: 0, most: longestLife })
    }),
    tags: member((context) => (...given: readonly string[]) => {
      context.#tags = checkedTags('tags', [...context.#tags, ...given])
    }),
    validators: member((context) => (given: Validators) => {
      context.#validators = checkedValidators(given)
    }),
    notModified: member((context) => () => context.#notModified()),
    doNotStore: member((context) => (given: Duration = defaultPassFor) => {
      context.#passFor = parseDuration('passFor', given, { most: longestTimer })
    }),
  }

  /** What the loader has said. */
  get said(): Said {
    return {
      ttl: this.#ttl,
      grace: this.#grace,
      tags: this.#tags,
      validators: this.#validators,
      passFor: this.#passFor,
    }
  }

  abort(reason: CacheError): void {
    this.#lost = reason
    this.#controller?.abort(reason)
  }

  #signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController()
      if (this.#lost !== null) this.#controller.abort(this.#lost)
    }
    return this.#controller.signal
  }

  #notModified(): unknown {
    const { key, stale } = this
    if (stale === null) {
      throw new TypeError(`Expected a stale value of ${quoted(key)} that was not modified: there is none`)
    }
    this.#validators ??= checkedValidators(validatorsOf(stale))
    return stale.value
  }
}

function member(get: (context: RecordingContext) => unknown): PropertyDescriptor {
  return {
    enumerable: true,
    get(this: RecordingContext) {
      return get(this)
    },
  }
}

/**
 * Runs a loader once, until it settles, its hard timeout passes, or the load is lost, whichever is first. The result of
 * a loader that goes on after its timeout is dropped, and its late rejection is ignored.
 */
export function runLoader(load: RunnableLoad): Promise<LoadRun> {
  return new Promise((resolve) => new LoaderRun(load, resolve))
}

class LoaderRun implements Due {
  readonly #load: RunnableLoad
  readonly #context: RecordingContext
  readonly #startedAt: number
  /** Until it is given back. */
  #permit: Permit | null
  /** Receives the result; once the lease is lost, for the `ended` of that. */
  #end: (result: LoadRun) => void

  constructor(load: RunnableLoad, end: (result: LoadRun) => void) {
    const { clock, deadlines, loss, loader, node, plan } = load
    this.#load = load
    this.#permit = load.permit
    this.#end = end
    this.#context = new RecordingContext(load)
    this.#startedAt = clock.now()
    deadlines.add(this.#startedAt + plan.hardTimeout, this)
    loss.tell(this.#lose)
    startLoader(loader, this.#context as unknown as LoadContext, node).then(this.#returned, this.#threw)
  }

  /** The hard timeout is over. */
  expire(): void {
    const { key, plan } = this.#load
    const message = `Loading ${quoted(key)} took longer than ${plan.hardTimeout} ms`
    const error = new CacheError('LOAD_TIMEOUT', message, { key })
    const isLead = this.#load.beginning != null
    if (isLead) this.#end({ state: 'pass', value: undefined, passFor: defaultPassFor })
    else this.#end({ state: 'failed', error, cooldown: plan.failureCooldown, tags: this.#context.said.tags })
    this.#context.abort(error)
    this.#permit?.source.ended(plan.hardTimeout, error)
    // The loader still loads. A source that never answers must not keep its permits for ever.
    if (this.#permit !== null || isLead) this.#load.deadlines.add(this.#startedAt + 2 * plan.hardTimeout, this.#overdue)
  }

  readonly #overdue: Due = {
    expire: () => {
      this.#giveBack()
      this.#load.beginning?.overdue()
    },
  }

  readonly #lose = (error: CacheError): void => {
    this.#context.abort(error)
    const end = this.#end
    const ended = new Promise<LoadResult>((resolve) => (this.#end = resolve as (result: LoadRun) => void))
    end({ state: 'lost', error, ended })
  }

  readonly #returned = (value: unknown): void => {
    const took = this.#took()
    this.#told(took)
    this.#end(resultOf(value, this.#load, this.#context.said, took))
  }

  readonly #threw = (thrown: unknown): void => {
    const took = this.#took()
    const result = resultOfError(thrown, this.#load, this.#context.said, took)
    // A loader may throw undefined.
    this.#told(took, result.state === 'failed' ? (thrown ?? result.error) : undefined)
    this.#end(result)
  }

  /** Says to the source how the load has ended, unless it was too late, and gives the permit back. */
  #told(took: number, error?: unknown): void {
    if (took < this.#load.plan.hardTimeout) this.#permit?.source.ended(took, error)
    this.#giveBack()
  }

  #giveBack(): void {
    this.#permit?.giveBack()
    this.#permit = null
    this.#load.deadlines.delete(this.#startedAt + 2 * this.#load.plan.hardTimeout, this.#overdue)
  }

  /** The loader has ended: how long it took. */
  #took(): number {
    const { clock, deadlines, plan } = this.#load
    loadContexts.ended()
    deadlines.delete(this.#startedAt + plan.hardTimeout, this)
    return clock.now() - this.#startedAt
  }
}

/** Calls the loader; a synchronous throw is a rejection. */
function startLoader(loader: Loader<unknown>, context: LoadContext, node: LoadNode): Promise<unknown> {
  try {
    return Promise.resolve(loadContexts.run(node, () => loader(context)))
  } catch (thrown) {
    return Promise.reject(thrown)
  }
}

function resultOf(value: unknown, { key, plan }: RunnableLoad, said: Said, loadTime: number): LoadResult {
  const { grace, tags, validators, passFor } = said
  const checked = checkedValue(value, key, plan.schema)
  if (checked instanceof CacheError) {
    return { state: 'failed', error: checked, cooldown: plan.failureCooldown, tags }
  }
  const { output } = checked
  if (passFor !== null) return { state: 'pass', value: output, passFor }
  const ttl = said.ttl ?? ttlOf(output, plan)
  return { state: 'value', value: output, kind: plan, ttl, grace, loadTime, tags, validators }
}

function resultOfError(thrown: unknown, { key, plan }: RunnableLoad, said: Said, loadTime: number): LoadResult {
  const error = loadFailedError(key, thrown)
  const errorKind = kindOf(thrown, key, plan)
  const { grace, tags, validators } = said
  if (errorKind !== 'answer') {
    const cooldown = errorKind === 'failure' ? plan.failureCooldown : 0
    return { state: 'failed', error, cooldown, tags }
  }
  const ttl = said.ttl ?? errorTtlOf(plan)
  return { state: 'value', value: new ErrorAnswer(error, ttl), kind: plan, ttl, grace, loadTime, tags, validators }
}

const kinds: readonly unknown[] = ['failure', 'unremembered', 'answer'] satisfies ErrorKind[]

/** What an error is by the option `errorKind`; a failure if that does not say. */
function kindOf(thrown: unknown, key: string, { errorKind }: Plan): ErrorKind {
  if (errorKind === null || (isError(thrown) && thrown instanceof CacheError)) return 'failure'
  try {
    const kind = errorKind(thrown, key) ?? 'failure'
    if (kinds.includes(kind)) return kind as ErrorKind
    throw new TypeError(`Expected \`errorKind\` to return ${kinds.join(', ')} or undefined, got ${formatValue(kind)}`)
  } catch (error) {
    warnOfThrown('The option `errorKind`', error)
    return 'failure'
  }
}

/** Throws TypeError unless `loader` is a function. */
export function checkLoader(key: string, loader: unknown): void {
  if (typeof loader === 'function') return
  throw new TypeError(`Expected a loader function for ${quoted(key)}, got ${formatValue(loader)}`)
}
