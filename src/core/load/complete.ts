import { CacheError, ignoreRejection } from '../errors.ts'
import { drawRandom, type CausalTime, type Clock } from '../time/clock.ts'
import type { Lease } from '../contract/store.ts'
import type { Codec } from '../codec/codec.ts'
import { applyJitter } from '../entry/freshness.ts'
import type { Keyspace } from '../entry/key.ts'
import type { Events } from '../observe/events.ts'
import type { GuardedStore } from '../outage/guarded-store.ts'
import type { LoadFailures } from './failures.ts'
import type { LoadRequest, LoadResult } from './loader.ts'
import type { Pacing } from './pacing.ts'
import { encodeValue, type UnstoredValues } from './payload.ts'

/** The end of a flight. */
export type FlightOutcome =
  /**
   * A value, good for the callers that asked before `currentAsOf` and joined before `freshUntil` (by the clock);
   * `token` is that of its load.
   */
  | {
      readonly state: 'value'
      readonly value: unknown
      readonly currentAsOf: CausalTime
      readonly freshUntil: number
      readonly token: string
    }
  /** An error, good for the callers that asked before `currentAsOf`. */
  | { readonly state: 'failed'; readonly error: CacheError; readonly currentAsOf: CausalTime }
  /** A result that is not shared; `own` is for the caller whose loader ran, if that was a caller of this process. */
  | { readonly state: 'pass'; readonly own?: { readonly value: unknown; readonly caller: CausalTime } }
  /** The load was voided: ask again. */
  | { readonly state: 'again' }
  /** The store does not answer. */
  | { readonly state: 'away'; readonly error: CacheError }

/** The parts that complete the loads of one cache. */
export interface CompletionParts {
  readonly store: GuardedStore
  readonly keyspace: Keyspace
  readonly codec: Codec
  readonly events: Events
  readonly pacing: Pacing
  readonly unstored: UnstoredValues
  readonly failures: LoadFailures
  readonly clock: Clock
  readonly causalNow: () => CausalTime
}

/** A load under a lease whose loader has ended. */
export interface EndedLoad {
  readonly request: LoadRequest
  readonly lease: Lease
  /** When its loader was started. */
  readonly beganAt: CausalTime
}

/**
 * The result of a fill. `refused`: the lease was lost. `unfit`: the value cannot be stored. `unknown`: no answer came.
 */
type FillResult =
  | { readonly state: 'filled' | 'refused' }
  | { readonly state: 'unfit' | 'unknown'; readonly error: CacheError }

/** No caller joins a load that has ended, so its value was fresh for all its callers. */
const always = Number.POSITIVE_INFINITY

/** Ends leases with the results of their loads: a value, an error, or nothing to store. */
export class LeaseCompletion {
  readonly #parts: CompletionParts

  constructor(parts: CompletionParts) {
    this.#parts = parts
  }

  /** Reports the end of a load to the store; resolves with the outcome for its callers. */
  complete(load: EndedLoad, result: LoadResult): Promise<FlightOutcome> {
    const endedAt = this.#parts.causalNow()
    switch (result.state) {
      case 'value':
        return this.#completeWithValue(load, result, endedAt)
      case 'pass':
        ignoreRejection(this.#parts.store.pass(load.lease, result.passFor))
        return Promise.resolve({ state: 'pass', own: { value: result.value, caller: load.request.askedAt } })
      case 'failed':
        return this.#completeWithError(load, result)
    }
  }

  /**
   * Answers the callers when the store has accepted the value, not when the loader returns. This handles the following
   * race between processes A and B:
   *
   * 1. A claims a key, wins lease a, and its loader reads the old row.
   * 2. The row changes, and B invalidates the key. Redis deletes the value and lease a, and B's call resolves.
   * 3. The message to A that a is void is late. A new caller in A asks for the key and joins the flight, which still
   *    loads.
   * 4. A's loader returns the old row, and A sends the fill under token a.
   * 5. Redis finds no lease with token a, and refuses the fill.
   * 6. A drops the old row. The flight ends with `again`, and its callers ask again.
   * 7. A claims the key, wins lease c, and loads the new row for all of them.
   *
   * If the callers were answered in step 4, the caller of step 3 would get a value that is older than the invalidation,
   * although it asked after the invalidation.
   */
  async #completeWithValue(
    load: EndedLoad,
    result: LoadResult & { state: 'value' },
    endedAt: CausalTime,
  ): Promise<FlightOutcome> {
    const { pacing } = this.#parts
    const { key, plan } = load.request
    const { token } = load.lease
    const { value } = result
    const filling = this.#fill(load, result)
    const filled = plan.answer === 'loaded' ? { state: 'filled' as const } : await filling
    switch (filled.state) {
      case 'filled':
        pacing.endRow(key)
        return { state: 'value', value, currentAsOf: endedAt, freshUntil: always, token }
      case 'refused':
        pacing.countVoided(key)
        return { state: 'again' }
      case 'unfit':
        return await this.#completeWithError(load, {
          error: filled.error,
          cooldown: plan.failureCooldown,
          tags: result.tags,
        })
      case 'unknown':
        // Without the store's acceptance, the value is current only as of the beginning of the load.
        if (plan.onStoreFailure === 'throw') return { state: 'away', error: filled.error }
        return { state: 'value', value, currentAsOf: load.beganAt, freshUntil: always, token }
    }
  }

  /** Shares an error once the store has accepted it as the outcome, like a value. */
  async #completeWithError(
    { request, lease, beganAt }: EndedLoad,
    { error, cooldown, tags }: Pick<LoadResult & { state: 'failed' }, 'error' | 'cooldown' | 'tags'>,
  ): Promise<FlightOutcome> {
    const { store, causalNow, pacing, failures, keyspace } = this.#parts
    const { key, plan } = request
    const failure = failures.describe(error, { key, token: lease.token }, cooldown)
    try {
      if (await store.fail(lease, failure, cooldown, keyspace.tagsOf(key, tags, plan.version))) {
        pacing.endRow(key)
        return { state: 'failed', error, currentAsOf: causalNow() }
      }
      pacing.countVoided(key)
      return { state: 'again' }
    } catch {
      return { state: 'failed', error, currentAsOf: beganAt }
    }
  }

  /** Encodes the value and offers it to the store. */
  async #fill({ request, lease }: EndedLoad, result: LoadResult & { state: 'value' }): Promise<FillResult> {
    const { store, codec, events, keyspace, clock, unstored } = this.#parts
    const { key, plan } = request
    const { value, grace, loadTime, validators } = result
    const tags = keyspace.tagsOf(key, result.tags, plan.version)
    const ttl = applyJitter(result.ttl, plan.jitter, drawRandom(clock))
    const payload = encodeValue(value, key, plan.maxValueSize, codec)
    if (payload instanceof CacheError) return { state: 'unfit', error: payload }
    try {
      const { inlineLimit } = plan
      if (await store.fill(lease, { payload, ttl, grace, loadTime, inlineLimit, tags, validators })) {
        events.emit('fill', { key, bytes: payload.byteLength, loadTime })
        return { state: 'filled' }
      }
      events.emit('refused', { key })
      return { state: 'refused' }
    } catch (error) {
      unstored.add(key, clock.now() - loadTime, payload)
      return { state: 'unknown', error: error as CacheError }
    }
  }
}
