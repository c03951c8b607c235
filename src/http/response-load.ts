import type { LoadContext } from '../core/load.ts'
import type { CacheError, CacheErrorCode } from '../core/errors.ts'
import type { CallOptions } from '../core/options.ts'
import type { Sibling } from '../core/sibling.ts'
import { known, type Client } from './client.ts'
import type { Old } from './decision.ts'
import { detached } from './detached.ts'
import { Fill } from './fill.ts'
import { follow } from './follow.ts'
import { filled, type Keeping, type Kept } from './keeping.ts'
import { isSelected, type Place } from './place.ts'
import { usableOnError } from './policy/reuse.ts'
import type { FieldLine } from './policy/fields.ts'
import { linesOf } from './response-arguments.ts'
import type { ResponsePlan } from './response-options.ts'
import { wantsPart } from './serve.ts'
import type { StoredHead } from './stored-response.ts'
import type { Streams } from './streams.ts'
import type { Waiters } from './waiters.ts'

/** What the requests of one cache of responses share. */
export interface ResponseShared {
  readonly sibling: Sibling
  readonly plan: ResponsePlan
  readonly streams: Streams
  readonly waiters: Waiters
  /** The keys that this process refreshes in the background. */
  readonly refreshing: Set<string>
}

/**
 * What came of it: something to look at; or the client has its answer; or nothing, so that it is to be asked for again, as it
 * is where another has failed, too.
 */
export type Loaded = Kept | 'answered' | 'again' | 'failed'

/** With which a request is put off that nothing can be served to, in the words of `Cache-Status`. */
const detailOf: Partial<Record<CacheErrorCode, string>> = { OVERLOADED: 'overloaded', WAIT_TIMEOUT: 'wait' }

/** Responses up to this many bytes travel in the message that wakes those who wait. */
const inlineLimit = 65_536

/** One request whose answer is not at hand: the handler answers it, or another like it, for all who wait. */
export class ResponseLoad {
  readonly #shared: ResponseShared
  readonly #client: Client
  readonly #place: Place
  /** What is stored, and may have to be replaced. */
  readonly #old: Old | null
  readonly #keeping: Keeping
  /** What stands before the cache has said already. */
  readonly #before: readonly FieldLine[]

  /** @param key that of the address */
  constructor(shared: ResponseShared, about: { client: Client; key: string; place: Place; old: Old | null }) {
    const { client, key, place, old } = about
    const { sibling, plan, streams } = shared
    this.#shared = shared
    this.#client = client
    this.#old = old
    this.#before = linesOf(client.response)
    this.#place = old === null ? place : { ...place, forwarded: 'stale' }
    const options: CallOptions = {
      grace: 0,
      inlineLimit,
      // Where there is something to serve instead, a handler that fails is left alone for a while.
      ...(this.#isUsableOnError ? {} : { failureCooldown: 0 }),
    }
    this.#keeping = { sibling, plan, streams, key, fields: client.fields, options }
  }

  /** @param verb `refresh` to replace what is fresh for the store, too; `load` where nothing was found */
  async answer(verb: 'getOrLoad' | 'refresh' | 'load'): Promise<Loaded> {
    const { request, response, run } = this.#client
    const { sibling, plan } = this.#shared
    const fill = new Fill({ request, response, plan, defaultTtl: sibling.defaultTtl, run })
    const loaded = this.#loaded(verb, fill)
    return this.#old === null && !wantsPart(request) ? await this.#orFollowed(fill, loaded) : await loaded
  }

  /** Refreshes what is served stale, for nobody in particular, when its client has it; resolves when that is over. */
  async behind(): Promise<void> {
    const { refreshing, sibling, plan } = this.#shared
    const { request, response, run } = this.#client
    const { key } = this.#place
    if (refreshing.has(key)) return
    refreshing.add(key)
    const load = (context: LoadContext): Promise<Kept | null> => {
      const about = { request, response: detached(request, response), plan, defaultTtl: sibling.defaultTtl, run }
      return filled(this.#keeping, context, new Fill({ ...about, isBehind: true }), this.#place, this.#old)
    }
    if (!response.closed) await new Promise<unknown>((resolve) => response.once('close', resolve))
    try {
      await sibling.cache.getOrLoad(key, load, this.#keeping.options)
    } catch {
      // It was told as an event.
    } finally {
      refreshing.delete(key)
    }
  }

  async #loaded(verb: 'getOrLoad' | 'refresh' | 'load', fill: Fill): Promise<Loaded> {
    let isOwn = false
    try {
      const load = (context: LoadContext): Promise<Kept | null> => {
        isOwn = true
        return filled(this.#keeping, context, fill, this.#place, this.#old)
      }
      const waitTimeout = Math.max(1, Math.ceil(this.#patience))
      const options = { ...this.#keeping.options, waitTimeout }
      const value = await this.#shared.sibling.cache[verb](this.#place.key, load, options)
      if (fill.forgo()) return value ?? 'again'
    } catch (error) {
      // It was told as an event. Whose handler has begun is answered by it.
      if (fill.forgo()) return this.#withoutLoad((error as CacheError).code, isOwn)
    }
    if (fill.isClientOurs) await this.#answerInstead(fill)
    return 'answered'
  }

  /** Where the handler answers another request of this process meanwhile, the client is sent that as it grows. */
  async #orFollowed(fill: Fill, loaded: Promise<Loaded>): Promise<Loaded> {
    const { response, fields, askedAt } = this.#client
    const { key, forwarded } = this.#place
    let leave = (): void => undefined
    const followed = new Promise<Loaded>((resolve) => {
      const join = (stream: Fill, head: StoredHead): void => {
        if (this.#client.isDone || !isSelected(head, fields) || !fill.forgo()) return
        follow(response, fields, stream, { head, status: { forwarded, collapsed: true } })
        resolve('answered')
      }
      leave = this.#shared.streams.join(key, { askedAt, follow: join })
    })
    try {
      return await Promise.race([followed, loaded])
    } finally {
      leave()
    }
  }

  /** There are too many who wait for this already. */
  overloaded(): Loaded {
    return this.#withoutLoad('OVERLOADED', false)
  }

  /** There is no answer. @param isOwn whether it was this client's own handler that was to give it */
  #withoutLoad(code: CacheErrorCode, isOwn: boolean): Loaded {
    const detail = detailOf[code] ?? 'error'
    if (this.#old !== null && this.#isUsableOnError) this.#client.serveOld(this.#old, { detail })
    // All who have waited for so long would run it at once: what is slow would be no faster for it.
    else if (code in detailOf || this.#patience <= 0)
      this.#client.putOff(this.#place.forwarded, detailOf[code] ?? 'wait')
    else return !isOwn && (code === 'LOAD_FAILED' || code === 'LOAD_TIMEOUT') ? 'failed' : 'again'
    return 'answered'
  }

  /** How long its client goes on waiting, in milliseconds, however often it has begun to. */
  get #patience(): number {
    const { plan, sibling } = this.#shared
    return (plan.waitTimeout ?? sibling.defaultWaitTimeout) - (performance.now() - this.#client.askedAt)
  }

  get #isUsableOnError(): boolean {
    const { asked, honor } = this.#client
    return this.#old !== null && usableOnError(asked, known(this.#old), { honor, ifError: 0 })
  }

  /** The handler has said that what is stored is right, or has failed: the client is sent what is stored. */
  async #answerInstead(fill: Fill): Promise<void> {
    await fill.ended()
    fill.reset(this.#before)
    const { decision } = fill
    if (decision?.to === 'store again') {
      const { stored, tags } = decision
      const status = { forwarded: 'stale', forwardedStatus: 304, stored: tags !== null } as const
      this.#client.serve(stored, stored.initialAge, status)
    } else if (decision?.to === 'drop' && this.#old !== null) {
      this.#client.serveOld(this.#old, { forwardedStatus: decision.status, detail: 'error' })
    }
  }
}
