/*
 * Room: exchange. The course of a request: it is served from the store, follows or awaits the answer to another request,
 * or runs the handler for all of them.
 *
 * Reading order: exchange.ts (one request, from its first look at the store to its answer), client.ts (its client),
 * run.ts (one run of the handler), redirect.ts (the response that it writes to), recording.ts (its answer while it
 * grows) and body-reader.ts (a client that is sent it), decide.ts (what becomes of the answer), earlier-lines.ts (the header lines
 * that are not the handler's), store.ts (how it is stored, and variants), late-load.ts (loads that are repeated), serve.ts
 * and part.ts (answers to clients), behind.ts (a response without a client). Then the state that requests share:
 * shared.ts, streams.ts, waiters.ts and variant-limit.ts.
 */
import type { ServerResponse } from 'node:http'
import { systemClock } from '../../core/time/clock.ts'
import { loadFailure } from '../../core/codec/load-failures.ts'
import type { CacheError, CacheErrorCode } from '../../core/errors.ts'
import type { LoadContext } from '../../core/flight/loader.ts'
import type { CallOptions } from '../../core/options/options.ts'
import type { Peeked } from '../../core/cache/cache.ts'
import { known, type Client } from './client.ts'
import { detached } from './behind.ts'
import { cutOff, hasEnded, rememberConnection } from '../message/http2.ts'
import { linesOf } from '../message/response-arguments.ts'
import type { FieldLine } from '../policy/fields.ts'
import { once } from './late-load.ts'
import { reuse, usableOnError } from '../policy/reuse.ts'
import { Run } from './run.ts'
import { follow, wantsPart } from './serve.ts'
import type { Shared } from './shared.ts'
import { firstSlot, isPassing, slotOfVariant, Storing, variantsTtl, type Kept, type VariantSlot } from './store.ts'
import { enteredStores } from '../inputs/async-stores.ts'
import { ageNow, type Old, type StoredHead, type StoredResponse, type Variants } from '../stored/stored-response.ts'

/**
 * The most turns of a request. A turn ends without an answer if the awaited answer was that of another variant or was
 * not stored.
 */
const mostTurns = 8

/** Errors after which a request is put off with a 503, with their `detail` in `Cache-Status`. */
const detailOf: Partial<Record<CacheErrorCode, string>> = { OVERLOADED: 'overloaded', WAIT_TIMEOUT: 'wait' }

/** What was not found in a slot of the store, so that the handler must run for this request or for another one. */
interface Miss {
  readonly slot: VariantSlot
  /** The stored response that may have to be replaced. */
  readonly old: Old | null
  /** Whether the response in the slot belongs to requests that are given something else. */
  readonly isOfOthers: boolean
  /** The lines and the status that earlier middleware has set on the response. */
  readonly lines: readonly FieldLine[]
  readonly status: number
}

/**
 * The result of a turn: a record to look at; `'answered'`; `'again'`, if there was nothing to store; `'failed'`, if the
 * load of another request failed. After the last two the store is to be asked again.
 */
type Turn = Kept | 'answered' | 'again' | 'failed'

/** The result of a load; `'begun'`: the own handler has begun, and no other answer may be given for it. */
type Loaded = Turn | 'begun'

/** One request on its way to an answer: stored, of another request, or of its own handler. */
export class Exchange {
  readonly #shared: Shared
  readonly #client: Client
  readonly #key: string
  /** The background refresh that goes on after the client has its answer. */
  #behind: Promise<void> | undefined

  /**
   * @param key the key of the address
   */
  constructor(shared: Shared, client: Client, key: string) {
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
    if (!(looked instanceof Promise) && variantsIn(looked) === null && this.#serveFound(looked, slot, true))
      return this.#behind
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
      const variants = variantsIn(found)
      if (variants !== null) {
        slot = slotOfVariant(this.#key, variants, this.#client.inputs)
        looked = this.#look(slot)
        continue
      }
      if (this.#serveFound(found, slot, isNear)) return
      const turned = await this.#turn(slot, found)
      if (turned === 'answered') return
      if (turned === 'again' || turned === 'failed') {
        // A load that fails is repeated by one waiter after the other, until `waitTimeout` ends their patience; such
        // turns do not count.
        if (turned === 'failed') turn--
        looked = this.#look(slot)
      } else if (turned.kind === 'variants') {
        looked = { state: 'fresh', value: turned, age: 0, ttl: variantsTtl }
      } else if (this.#client.inputs.mayHave(turned)) {
        return this.#client.serve(turned, ageNow(turned), { forwarded: slot.forwarded, collapsed: true })
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
    const { events } = this.#shared.sibling
    const old = this.#oldIn(found)
    const { asked, honor } = this.#client
    const reused = reuse(asked, old === null ? null : known(old), { honor })
    if (reused.use === 'refused') {
      this.#client.refuse(reused.status, { forwarded: slot.forwarded, detail: 'only-if-cached' })
      return true
    }
    if (old === null || reused.use === 'validate' || reused.use === 'load') return false
    if (reused.use === 'fresh' && isNear) events.nearHit(slot.key)
    else if (reused.use === 'fresh') events.hit(slot.key)
    else events.stale(slot.key, old.age, false)
    // Hono and Fastify route a HEAD request before the cache and drop the body, even if the method is changed here, so
    // a HEAD request cannot refresh.
    const mayRefresh = reused.use === 'stale-while-revalidate' && asked.method === 'GET'
    // Made before the response is sent, because it has the lines that earlier middleware has set on it.
    const miss = mayRefresh ? this.#missOf(slot, old) : null
    this.#client.serveOld(old)
    if (miss !== null) this.#behind = this.#refreshBehind(miss)
    return true
  }

  /** Waits for an answer to another request, or runs the handler. */
  async #turn(slot: VariantSlot, found: Peeked<Kept>): Promise<Turn> {
    if (this.#client.request.method === 'HEAD') {
      // The answer to a HEAD request has no body to store.
      this.#client.goOn('head', slot.forwarded)
      return 'answered'
    }
    const old = this.#oldIn(found)
    const isOfOthers =
      found.state !== 'missing' && found.value.kind === 'response' && found.value.given !== this.#client.inputs.given
    const miss = this.#missOf(slot, old, isOfOthers)
    const { plan, waiters } = this.#shared
    const leave = waiters.enter(slot.key, this.#client, plan.maxWaiters)
    if (leave === null) return this.#withoutLoad(miss, 'OVERLOADED')
    const run = this.#newRun(miss)
    try {
      // A response that is fresh for the store may still need a validation (`no-cache`, or `max-age` of the request).
      const isRefresh = found.state === 'fresh' || old?.stored.rules.noCache === true
      const verb = isRefresh ? 'refresh' : found.state === 'missing' ? 'load' : 'getOrLoad'
      const loaded = this.#load(verb, miss, run)
      const mayFollow = old === null && !wantsPart(this.#client.request)
      const turned = mayFollow ? await this.#orFollowed(miss, run, loaded) : await loaded
      if (turned !== 'begun') return turned
    } finally {
      leave()
    }
    await this.#answerInstead(miss, run)
    return 'answered'
  }

  #missOf(slot: VariantSlot, old: Old | null, isOfOthers = false): Miss {
    const { request, response } = this.#client
    this.#client.entered ??= enteredStores()
    // A hit needs none of this; a handler may ask for the address of a client that has gone.
    rememberConnection(request, response)
    const lines = linesOf(response)
    return {
      slot: old === null ? slot : { ...slot, forwarded: isFresh(old) ? 'request' : 'stale' },
      old,
      isOfOthers,
      lines,
      status: response.statusCode,
    }
  }

  /** @param behind the response of a background refresh */
  #newRun({ slot: { forwarded }, old, lines, isOfOthers }: Miss, behind: ServerResponse | null = null): Run {
    const isApart = isOfOthers || this.#client.isApart
    const run = new Run(this.#shared, this.#client, { forwarded, old, lines, isApart, behind })
    this.#client.visit.run = run
    return run
  }

  /** The work of a load: the handler's run, and its storing. */
  #work({ slot, old }: Miss, run: Run): (context: LoadContext) => Promise<Kept | null> {
    const storing = new Storing(this.#shared, {
      client: this.#client,
      key: this.#key,
      run,
      options: this.#optionsFor(old),
    })
    return (context) => storing.load({ context, slot })
  }

  #optionsFor(old: Old | null): CallOptions {
    // Without a stale response to serve in place of an error, a failed handler is not spared for a while: the next
    // request runs it.
    const { source } = this.#shared.plan
    return {
      grace: 0,
      ...(source !== undefined && { source }),
      ...(this.#isUsableOnError(old) ? {} : { failureCooldown: 0 }),
    }
  }

  /**
   * Has the handler run for this request, or waits for the run of another.
   * @param verb `refresh` to replace a response that is fresh for the store, too; `load` if the slot is empty
   */
  async #load(verb: 'getOrLoad' | 'refresh' | 'load', miss: Miss, run: Run): Promise<Loaded> {
    let isOwn = false
    try {
      const work = this.#work(miss, run)
      const load = (context: LoadContext): Promise<Kept | null> => {
        isOwn = true
        return work(context)
      }
      const options = { ...this.#optionsFor(miss.old), waitTimeout: Math.max(1, Math.ceil(this.#patience)) }
      const value = await this.#shared.sibling.cache[verb](miss.slot.key, load, options)
      if (run.forgo()) return value ?? 'again'
    } catch (error) {
      // The error was reported as an event. A client whose handler has begun is answered by that handler.
      const own = loadFailure(error) === undefined ? (error as CacheError) : null
      if (run.forgo())
        return this.#withoutLoad(miss, own?.code ?? 'LOAD_FAILED', { isOwn, retryAfter: own?.retryAfter })
    } finally {
      run.settle()
    }
    return 'begun'
  }

  /** Follows the answer to another request of this process if one grows meanwhile. */
  async #orFollowed({ slot }: Miss, own: Run, loaded: Promise<Loaded>): Promise<Loaded> {
    const { response, inputs, askedAt } = this.#client
    let leave = (): void => undefined
    const answered = new Promise<Loaded>((resolve, reject) => {
      const join = (run: Run, head: StoredHead): void => {
        // A request that differs in any input waits for the whole: a late read may tell the two apart.
        const { recording } = run
        if (recording === null || this.#client.isDone || !run.mayFollow(inputs, head) || !own.forgo()) return
        try {
          follow(response, recording, { head, status: { forwarded: slot.forwarded, collapsed: true } })
          resolve('answered')
        } catch (error) {
          // Earlier middleware has thrown. Others are yet to be sent the answer.
          reject(error as Error)
        }
      }
      leave = this.#shared.streams.join(slot.key, { askedAt, follow: join })
      loaded.then(resolve, reject)
    })
    try {
      return await answered
    } finally {
      leave()
    }
  }

  /** Refreshes a stale response in the background after its client was served; resolves when that is over. */
  async #refreshBehind(miss: Miss): Promise<void> {
    const { refreshing, sibling } = this.#shared
    const { request, response } = this.#client
    const { key } = miss.slot
    if (refreshing.has(key)) return
    // Before the key is taken: a client need not take its answer, ever.
    if (!response.closed && !hasEnded(response))
      await new Promise<unknown>((resolve) => response.once('close', resolve))
    if (refreshing.has(key)) return
    refreshing.add(key)
    let run: Run | undefined
    const load = once(async (context) => {
      // The answers of its address are passed: nothing would be stored, and its client has an answer.
      if (isPassing(context, sibling)) return (context.doNotStore(), null)
      const behind = detached(request, response, miss.lines)
      behind.statusCode = miss.status
      run = this.#newRun(miss, behind)
      return await this.#work(miss, run)(context)
    })
    try {
      await sibling.cache.getOrLoad(key, load, this.#optionsFor(miss.old))
    } catch {
      // The error was reported as an event.
    } finally {
      run?.settle()
      refreshing.delete(key)
    }
  }

  /**
   * Answers a request whose load brought nothing, or asks for another turn.
   * @param isOwn whether its own handler ran
   */
  #withoutLoad(
    { slot, old }: Miss,
    code: CacheErrorCode,
    { isOwn = false, retryAfter }: { readonly isOwn?: boolean; readonly retryAfter?: number | undefined } = {},
  ): Turn {
    const detail = detailOf[code] ?? 'error'
    if (old !== null && this.#isUsableOnError(old)) this.#client.serveOld(old, { detail })
    // All waiters of this age would run the handler at once, which makes a slow handler slower.
    else if (code in detailOf || this.#patience <= 0)
      this.#client.putOff(slot.forwarded, detailOf[code] ?? 'wait', retryAfter)
    else return !isOwn && (code === 'LOAD_FAILED' || code === 'LOAD_TIMEOUT') ? 'failed' : 'again'
    return 'answered'
  }

  /** Answers the client from the store, after the handler has confirmed the stored response or has failed. */
  async #answerInstead({ slot: { forwarded }, old, lines }: Miss, run: Run): Promise<void> {
    // A load may be given up before its handler answers, and the client still waits for that answer.
    if (run.recording !== null) await run.decided
    const { decision } = run
    if (decision?.to !== 'store again' && decision?.to !== 'drop') return
    await run.ended()
    run.reset(lines)
    if (decision.to === 'store again') {
      const { stored, tags, cookies } = decision
      for (const [name, value] of cookies) this.#client.response.appendHeader(name, value)
      const status = { forwarded, forwardedStatus: 304, stored: tags !== null }
      this.#client.serve(stored, stored.initialAge, status)
    } else if (old !== null) {
      this.#client.serveOld(old, { forwarded, forwardedStatus: decision.status, detail: 'error' })
    }
  }

  /** The rest of `waitTimeout` over all turns of this client, in milliseconds. */
  get #patience(): number {
    const { plan, sibling } = this.#shared
    return (plan.waitTimeout ?? sibling.defaultWaitTimeout) - (systemClock.now() - this.#client.askedAt)
  }

  #isUsableOnError(old: Old | null): boolean {
    const { asked, honor } = this.#client
    return old !== null && usableOnError(asked, known(old), { honor, ifError: 0 })
  }

  #oldIn(found: Peeked<Kept>): Old | null {
    if (found.state === 'missing' || found.value.kind !== 'response') return null
    if (!this.#client.inputs.mayHave(found.value)) return null
    const age = found.value.initialAge + found.age
    return { stored: found.state === 'stale' ? endedBy(found.value, age + found.ttl) : found.value, age }
  }
}

/** Whether a response might be served if the request did not ask for another one. */
function isFresh({ stored, age }: Old): boolean {
  return stored.lifetime > age && !stored.rules.noCache
}

/** The record of the variants of an address, if that was found. */
function variantsIn(found: Peeked<Kept>): Variants | null {
  return found.state !== 'missing' && found.value.kind === 'variants' ? found.value : null
}

/** A response whose lifetime ended at an age, because it was softly purged, unless it had ended before. */
function endedBy(stored: StoredResponse, age: number): StoredResponse {
  return stored.lifetime <= age ? stored : { ...stored, lifetime: age }
}

const missing: Peeked<never> = { state: 'missing' }
