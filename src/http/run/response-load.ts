import { systemClock } from '../../core/time/clock.ts'
import type { AsyncResource } from 'node:async_hooks'
import type { ServerResponse } from 'node:http'
import type { LoadContext } from '../../core/flight/loader.ts'
import type { CacheError, CacheErrorCode } from '../../core/errors.ts'
import { loadFailure } from '../../core/codec/load-failures.ts'
import type { CallOptions } from '../../core/options/options.ts'
import type { Sibling } from '../../core/cache/sibling.ts'
import { known, type Client } from './client.ts'
import { detached } from '../answer/detached.ts'
import { HandlerRun } from './handler-run.ts'
import { follow } from './follow.ts'
import { hasEnded, rememberConnection } from '../message/http2.ts'
import { ResponseStoring, type Kept, type ResponseStoringParts } from './response-storing.ts'
import type { VariantSlot } from './variant-slot.ts'
import { usableOnError } from '../policy/reuse.ts'
import type { FieldLine } from '../policy/fields.ts'
import { linesOf } from '../message/response-arguments.ts'
import type { ResponsePlan } from '../options/response-options.ts'
import { wantsPart } from '../answer/serve.ts'
import type { StoredHead, Old } from '../stored/stored-response.ts'
import type { Streams } from './streams.ts'
import type { Standing } from '../watch/surroundings.ts'
import type { VariantLimit } from './variant-limit.ts'
import type { Waiters } from './waiters.ts'

/** The state that the requests of one response cache share. */
export interface ResponseShared {
  readonly sibling: Sibling
  readonly plan: ResponsePlan
  readonly streams: Streams
  readonly waiters: Waiters
  readonly limit: VariantLimit
  /** The keys that this process is refreshing in the background. */
  readonly refreshing: Set<string>
  readonly standing: Standing
  /** The asynchronous context in which the middleware was made, outside every request. */
  readonly outside: AsyncResource
}

/**
 * The result of a load: a record to look at; `'answered'`; `'again'`, if there was nothing to store; `'failed'`, if the
 * load of another request failed. After the last two the store is to be asked again.
 */
export type Loaded = Kept | 'answered' | 'again' | 'failed'

/** Errors after which a request is put off with a 503, with their `detail` in `Cache-Status`. */
const detailOf: Partial<Record<CacheErrorCode, string>> = { OVERLOADED: 'overloaded', WAIT_TIMEOUT: 'wait' }

/** The arguments of `ResponseLoad`. */
export interface ResponseLoadAbout {
  readonly client: Client
  /** The key of the address. */
  readonly key: string
  readonly slot: VariantSlot
  readonly old: Old | null
  readonly isOfOthers: boolean
}

/**
 * The load for a request without a usable stored response. The handler runs for this request, or for another one whose
 * answer this request shares.
 */
export class ResponseLoad {
  readonly #shared: ResponseShared
  readonly #client: Client
  readonly #slot: VariantSlot
  /** The stored response that may have to be replaced. */
  readonly #old: Old | null
  readonly #storing: ResponseStoringParts
  /** The lines that earlier middleware has set on the response. */
  readonly #before: readonly FieldLine[]
  /** The status that earlier middleware has set. */
  readonly #status: number

  /** Whether the response in its slot belongs to requests with other circumstances. */
  readonly #isOfOthers: boolean

  constructor(shared: ResponseShared, about: ResponseLoadAbout) {
    const { client, key, slot, old, isOfOthers } = about
    const { sibling, plan, streams, limit } = shared
    this.#shared = shared
    this.#client = client
    this.#old = old
    // A hit needs none of this; a handler may ask for the address of a client that has gone.
    rememberConnection(client.request, client.response)
    this.#isOfOthers = isOfOthers
    this.#before = linesOf(client.response)
    this.#status = client.response.statusCode
    this.#slot = old === null ? slot : { ...slot, forwarded: 'stale' }
    const options: CallOptions = {
      grace: 0,
      // Without a stale response to serve in place of an error, a failed handler is not spared for a while: the next
      // request runs it.
      ...(this.#isUsableOnError ? {} : { failureCooldown: 0 }),
    }
    const isOfUser = client.user !== null
    this.#storing = { sibling, plan, streams, limit, key, selection: client.selection, options, isOfUser }
  }

  /**
   * Answers the request.
   * @param verb `refresh` to replace a response that is fresh for the store, too; `load` if the slot is empty
   */
  async answer(verb: 'getOrLoad' | 'refresh' | 'load'): Promise<Loaded> {
    const { request, response } = this.#client
    const handlerRun = this.#newRun(response)
    const loaded = this.#loaded(verb, handlerRun)
    return this.#old === null && !wantsPart(request) ? await this.#orFollowed(handlerRun, loaded) : await loaded
  }

  /** Refreshes a stale response in the background after its client was served; resolves when that is over. */
  async behind(): Promise<void> {
    const { refreshing, sibling } = this.#shared
    const { request, response } = this.#client
    const { key } = this.#slot
    if (refreshing.has(key)) return
    // Before the key is taken: a client need not take its answer, ever.
    if (!response.closed && !hasEnded(response))
      await new Promise<unknown>((resolve) => response.once('close', resolve))
    if (refreshing.has(key)) return
    refreshing.add(key)
    const load = (context: LoadContext): Promise<Kept | null> => {
      const behind = detached(request, response, this.#before)
      behind.statusCode = this.#status
      const handlerRun = this.#newRun(behind, true)
      return new ResponseStoring(this.#storing, handlerRun).load(context, this.#slot, this.#old)
    }
    try {
      await sibling.cache.getOrLoad(key, load, this.#storing.options)
    } catch {
      // The error was reported as an event.
    } finally {
      refreshing.delete(key)
    }
  }

  #newRun(response: ServerResponse, isBehind = false): HandlerRun {
    const { plan, sibling, standing, outside, waiters } = this.#shared
    const client = this.#client
    // A refresh belongs to no client, so it leaves the asynchronous context of the request, which earlier middleware
    // may have filled for one.
    const run = isBehind ? (): void => outside.runInAsyncScope(client.run) : client.run
    const isApart = this.#isOfOthers || client.user !== null || client.visit.depth > 0
    const handlerRun = new HandlerRun({
      client,
      response,
      before: isBehind ? [] : this.#before,
      plan,
      standing,
      defaultTtl: sibling.defaultTtl,
      run,
      isBehind,
      isApart,
      waiters,
      patience: sibling.defaultHardTimeout,
    })
    client.visit.run = handlerRun
    return handlerRun
  }

  async #loaded(verb: 'getOrLoad' | 'refresh' | 'load', handlerRun: HandlerRun): Promise<Loaded> {
    let isOwn = false
    try {
      const load = (context: LoadContext): Promise<Kept | null> => {
        isOwn = true
        return new ResponseStoring(this.#storing, handlerRun).load(context, this.#slot, this.#old)
      }
      const waitTimeout = Math.max(1, Math.ceil(this.#patience))
      const options = { ...this.#storing.options, waitTimeout }
      const value = await this.#shared.sibling.cache[verb](this.#slot.key, load, options)
      if (handlerRun.forgo()) return value ?? 'again'
    } catch (error) {
      // The error was reported as an event. A client whose handler has begun is answered by that handler.
      if (handlerRun.forgo())
        return this.#withoutLoad(loadFailure(error) === undefined ? (error as CacheError).code : 'LOAD_FAILED', isOwn)
    } finally {
      handlerRun.settle()
    }
    if (handlerRun.isClientOurs) await this.#answerInstead(handlerRun)
    return 'answered'
  }

  /** Follows the answer to another request of this process if one grows meanwhile. */
  async #orFollowed(handlerRun: HandlerRun, loaded: Promise<Loaded>): Promise<Loaded> {
    const { response, selection, askedAt } = this.#client
    const { key, forwarded } = this.#slot
    let leave = (): void => undefined
    const answered = new Promise<Loaded>((resolve, reject) => {
      const join = (stream: HandlerRun, head: StoredHead): void => {
        // A request that differs in any input waits for the whole: a late read may tell the two apart.
        if (this.#client.isDone || !stream.mayFollow(selection, head) || !handlerRun.forgo()) return
        follow(response, stream, { head, status: { forwarded, collapsed: true } })
        resolve('answered')
      }
      leave = this.#shared.streams.join(key, { askedAt, follow: join })
      loaded.then(resolve, reject)
    })
    try {
      return await answered
    } finally {
      leave()
    }
  }

  /** Answers a request that exceeds `maxWaiters`. */
  overloaded(): Loaded {
    return this.#withoutLoad('OVERLOADED', false)
  }

  /**
   * Answers a request whose load brought nothing, or asks for another turn.
   * @param isOwn whether its own handler ran
   */
  #withoutLoad(code: CacheErrorCode, isOwn: boolean): Loaded {
    const detail = detailOf[code] ?? 'error'
    if (this.#old !== null && this.#isUsableOnError) this.#client.serveOld(this.#old, { detail })
    // All waiters of this age would run the handler at once, which makes a slow handler slower.
    else if (code in detailOf || this.#patience <= 0)
      this.#client.putOff(this.#slot.forwarded, detailOf[code] ?? 'wait')
    else return !isOwn && (code === 'LOAD_FAILED' || code === 'LOAD_TIMEOUT') ? 'failed' : 'again'
    return 'answered'
  }

  /** The rest of `waitTimeout` over all turns of this client, in milliseconds. */
  get #patience(): number {
    const { plan, sibling } = this.#shared
    return (plan.waitTimeout ?? sibling.defaultWaitTimeout) - (systemClock.now() - this.#client.askedAt)
  }

  get #isUsableOnError(): boolean {
    const { asked, honor } = this.#client
    return this.#old !== null && usableOnError(asked, known(this.#old), { honor, ifError: 0 })
  }

  /** Answers the client from the store, after the handler has confirmed the stored response or has failed. */
  async #answerInstead(handlerRun: HandlerRun): Promise<void> {
    await handlerRun.ended()
    handlerRun.reset(this.#before)
    const { decision } = handlerRun
    if (decision?.to === 'store again') {
      const { stored, tags } = decision
      const status = { forwarded: 'stale', forwardedStatus: 304, stored: tags !== null } as const
      this.#client.serve(stored, stored.initialAge, status)
    } else if (decision?.to === 'drop' && this.#old !== null) {
      this.#client.serveOld(this.#old, { forwardedStatus: decision.status, detail: 'error' })
    }
  }
}
