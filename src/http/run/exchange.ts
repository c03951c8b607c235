/*
 * Room: run. The course of a request: it is served from the store, waits for the answer to another request, or runs the
 * handler for all of them.
 *
 * Reading order: exchange.ts (one request, from its first look at the store to its answer), client.ts (its client),
 * variant-slot.ts (where its answer is stored), response-load.ts (its load through the cache), handler-run.ts (the run
 * of the handler), earlier-lines.ts (the header lines that are not the handler's), decision.ts (the treatment of the
 * answer), response-storing.ts (the storing of the answer, and variants). Then the state that requests share: streams.ts
 * and follow.ts (answers that are followed while they grow), waiters.ts and variant-limit.ts (limits).
 */
import type { Peeked } from '../../core/cache/cache.ts'
import { known, type Client } from './client.ts'
import { cutOff } from '../message/http2.ts'
import { variantsTtl, type Kept } from './response-storing.ts'
import { firstSlot, slotOfVariant, type VariantSlot } from './variant-slot.ts'
import { reuse } from '../policy/reuse.ts'
import { ResponseLoad, type Loaded, type ResponseShared } from './response-load.ts'
import { ageNow, type Old, type StoredResponse } from '../stored/stored-response.ts'

/**
 * The most turns of a request. A turn ends without an answer if the awaited answer was that of another variant or was
 * not stored.
 */
const mostTurns = 8

/** One request on its way to an answer: stored, of another request, or of its own handler. */
export class Exchange {
  readonly #shared: ResponseShared
  readonly #client: Client
  readonly #key: string
  /** The background refresh that goes on after the client has its answer. */
  #behind: Promise<void> | undefined

  /**
   * @param key the key of the address
   */
  constructor(shared: ResponseShared, client: Client, key: string) {
    this.#shared = shared
    this.#client = client
    this.#key = key
  }

  /**
   * Answers the request.
   * @returns a promise that resolves when the handler will no longer be run for this request; `undefined` if that is so
   *   already
   */
  begin(): Promise<void> | undefined {
    const slot = firstSlot(this.#key)
    const looked = this.#look(slot)
    // A near copy is served within the same turn of the event loop.
    if (!(looked instanceof Promise) && this.#serveFound(looked, slot, true)) return this.#behind
    return this.#seek(slot, looked).then(
      () => this.#behind,
      (error: unknown) => cutOff(this.#client.response, error as Error),
    )
  }

  /** Goes from slot to slot until there is an answer. */
  async #seek(slot: VariantSlot, looked: Peeked<Kept> | Promise<Peeked<Kept>>): Promise<void> {
    for (let turn = 0; turn < mostTurns; turn++) {
      const isNear = !(looked instanceof Promise)
      const found = await looked
      if (found.state !== 'missing' && found.value.kind === 'variants') {
        slot = slotOfVariant(this.#key, found.value, this.#client.selection)
        looked = this.#look(slot)
        continue
      }
      if (this.#serveFound(found, slot, isNear)) return
      const loaded = await this.#load(slot, found)
      if (loaded === 'answered') return
      if (loaded === 'again' || loaded === 'failed') {
        // A load that fails is repeated by one waiter after the other, until `waitTimeout` ends their patience; such
        // turns do not count.
        if (loaded === 'failed') turn--
        looked = this.#look(slot)
      } else if (loaded.kind === 'variants') {
        looked = { state: 'fresh', value: loaded, age: 0, ttl: variantsTtl }
      } else if (this.#client.selection.mayHave(loaded)) {
        return this.#client.serve(loaded, ageNow(loaded), { forwarded: slot.forwarded, collapsed: true })
      } else {
        slot = firstSlot(this.#key)
        looked = this.#look(slot)
      }
    }
    this.#client.goOn('again')
  }

  #look({ key }: VariantSlot): Peeked<Kept> | Promise<Peeked<Kept>> {
    const looked = this.#shared.sibling.look<Kept>(key)
    // An unreachable store must not keep a request from being answered.
    return looked instanceof Promise ? looked.catch(() => missing) : looked
  }

  /**
   * Serves a stored response if that is allowed.
   * @param isNear whether it is a near copy
   * @returns whether the request was answered
   */
  #serveFound(found: Peeked<Kept>, slot: VariantSlot, isNear: boolean): boolean {
    const { sibling } = this.#shared
    const old = this.#oldIn(found)
    const { asked, honor } = this.#client
    const reused = reuse(asked, old === null ? null : known(old), { honor })
    if (reused.use === 'refused') {
      this.#client.refuse(reused.status, { forwarded: slot.forwarded, detail: 'only-if-cached' })
      return true
    }
    if (old === null || reused.use === 'validate' || reused.use === 'load') return false
    if (reused.use === 'fresh' && isNear) sibling.events.nearHit(slot.key)
    else if (reused.use === 'fresh') sibling.events.hit(slot.key)
    else sibling.events.stale(slot.key, old.age, false)
    // Hono and Fastify route a HEAD request before the cache and drop the body, even if the method is changed here, so
    // a HEAD request cannot refresh.
    const mayRefresh = reused.use === 'stale-while-revalidate' && asked.method === 'GET'
    // Made before the response is sent, because it reads the lines that earlier middleware has set on it.
    const refresh = mayRefresh ? this.#loadFor(slot, old) : null
    this.#client.serveOld(old)
    if (refresh !== null) this.#behind = refresh.behind()
    return true
  }

  async #load(slot: VariantSlot, found: Peeked<Kept>): Promise<Loaded> {
    if (this.#client.request.method === 'HEAD') {
      // The answer to a HEAD request has no body to store.
      this.#client.goOn('head', slot.forwarded)
      return 'answered'
    }
    const old = this.#oldIn(found)
    const load = this.#loadFor(slot, old, this.#isOfOthers(found))
    const { plan, waiters } = this.#shared
    const leave = waiters.enter(slot.key, this.#client, plan.maxWaiters)
    if (leave === null) return load.overloaded()
    try {
      // A response that is fresh for the store may still need a validation (`no-cache`, or `max-age` of the request).
      const isRefresh = found.state === 'fresh' || old?.stored.rules.noCache === true
      return await load.answer(isRefresh ? 'refresh' : found.state === 'missing' ? 'load' : 'getOrLoad')
    } finally {
      leave()
    }
  }

  #loadFor(slot: VariantSlot, old: Old | null, isOfOthers = false): ResponseLoad {
    return new ResponseLoad(this.#shared, { client: this.#client, key: this.#key, slot, old, isOfOthers })
  }

  /** Whether the stored response belongs to requests with other circumstances. */
  #isOfOthers(found: Peeked<Kept>): boolean {
    return (
      found.state !== 'missing' &&
      found.value.kind === 'response' &&
      found.value.before !== this.#client.selection.before
    )
  }

  #oldIn(found: Peeked<Kept>): Old | null {
    if (found.state === 'missing' || found.value.kind !== 'response') return null
    if (!this.#client.selection.mayHave(found.value)) return null
    const age = found.value.initialAge + found.age
    return { stored: found.state === 'stale' ? endedBy(found.value, age + found.ttl) : found.value, age }
  }
}

/** A response whose lifetime ended at an age, because it was softly purged, unless it had ended before. */
function endedBy(stored: StoredResponse, age: number): StoredResponse {
  return stored.lifetime <= age ? stored : { ...stored, lifetime: age }
}

const missing: Peeked<never> = { state: 'missing' }
