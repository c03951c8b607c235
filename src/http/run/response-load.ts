import type { AsyncResource } from 'node:async_hooks'
import type { ServerResponse } from 'node:http'
import type { LoadContext } from '../../core/load/loader.ts'
import type { CacheError, CacheErrorCode } from '../../core/errors.ts'
import type { CallOptions } from '../../core/options/options.ts'
import type { Sibling } from '../../core/cache/sibling.ts'
import { known, type Client } from './client.ts'
import { detached } from '../answer/detached.ts'
import { HandlerRun } from './handler-run.ts'
import { follow } from './follow.ts'
import { hasEnded } from '../message/http2.ts'
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

/** What the requests of one cache of responses share. */
export interface ResponseShared {
  readonly sibling: Sibling
  readonly plan: ResponsePlan
  readonly streams: Streams
  readonly waiters: Waiters
  readonly limit: VariantLimit
  /** The keys that this process refreshes in the background. */
  readonly refreshing: Set<string>
  readonly standing: Standing
  /** Where the middleware was made: outside of all requests. */
  readonly outside: AsyncResource
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

/** Which request, and where its answer belongs. */
export interface ResponseLoadAbout {
  readonly client: Client
  /** That of the address. */
  readonly key: string
  readonly place: VariantSlot
  readonly old: Old | null
  readonly isOfOthers: boolean
}

/** One request whose answer is not at hand: the handler answers it, or another like it, for all who wait. */
export class ResponseLoad {
  readonly #shared: ResponseShared
  readonly #client: Client
  readonly #place: VariantSlot
  /** What is stored, and may have to be replaced. */
  readonly #old: Old | null
  readonly #storing: ResponseStoringParts
  /** What stands before the cache has said already. */
  readonly #before: readonly FieldLine[]

  /** Whether what is at its place is for others, before whose cache something else has stood. */
  readonly #isOfOthers: boolean

  constructor(shared: ResponseShared, about: ResponseLoadAbout) {
    const { client, key, place, old, isOfOthers } = about
    const { sibling, plan, streams, limit } = shared
    this.#shared = shared
    this.#client = client
    this.#old = old
    this.#isOfOthers = isOfOthers
    this.#before = linesOf(client.response)
    this.#place = old === null ? place : { ...place, forwarded: 'stale' }
    const options: CallOptions = {
      grace: 0,
      inlineLimit,
      // Where there is something to serve instead, a handler that fails is left alone for a while.
      ...(this.#isUsableOnError ? {} : { failureCooldown: 0 }),
    }
    const isOfUser = client.user !== null
    this.#storing = { sibling, plan, streams, limit, key, selection: client.selection, options, isOfUser }
  }

  /** @param verb `refresh` to replace what is fresh for the store, too; `load` where nothing was found */
  async answer(verb: 'getOrLoad' | 'refresh' | 'load'): Promise<Loaded> {
    const { request, response } = this.#client
    const fill = this.#fill(response)
    const loaded = this.#loaded(verb, fill)
    return this.#old === null && !wantsPart(request) ? await this.#orFollowed(fill, loaded) : await loaded
  }

  /** Refreshes what is served stale, for nobody in particular, when its client has it; resolves when that is over. */
  async behind(): Promise<void> {
    const { refreshing, sibling } = this.#shared
    const { request, response } = this.#client
    const { key } = this.#place
    if (refreshing.has(key)) return
    refreshing.add(key)
    const load = (context: LoadContext): Promise<Kept | null> => {
      const fill = this.#fill(detached(request, response, this.#before), true)
      return new ResponseStoring(this.#storing, fill).load(context, this.#place, this.#old)
    }
    if (!response.closed && !hasEnded(response))
      await new Promise<unknown>((resolve) => response.once('close', resolve))
    try {
      await sibling.cache.getOrLoad(key, load, this.#storing.options)
    } catch {
      // It was told as an event.
    } finally {
      refreshing.delete(key)
    }
  }

  #fill(response: ServerResponse, isBehind = false): HandlerRun {
    const { plan, sibling, standing, outside, waiters } = this.#shared
    const client = this.#client
    // A refresh is for no client in particular: what an earlier middleware has entered for one is left.
    const run = isBehind ? (): void => outside.runInAsyncScope(client.run) : client.run
    const isApart = this.#isOfOthers || client.user !== null || client.visit.depth > 0
    const { defaultTtl, defaultHardTimeout: hardTimeout } = sibling
    const shared = { plan, standing, waiters, defaultTtl, hardTimeout }
    const fill = new HandlerRun({ ...shared, client, response, run, isBehind, isApart })
    client.visit.fill = fill
    return fill
  }

  async #loaded(verb: 'getOrLoad' | 'refresh' | 'load', fill: HandlerRun): Promise<Loaded> {
    let isOwn = false
    try {
      const load = (context: LoadContext): Promise<Kept | null> => {
        isOwn = true
        return new ResponseStoring(this.#storing, fill).load(context, this.#place, this.#old)
      }
      const waitTimeout = Math.max(1, Math.ceil(this.#patience))
      const options = { ...this.#storing.options, waitTimeout }
      const value = await this.#shared.sibling.cache[verb](this.#place.key, load, options)
      if (fill.forgo()) return value ?? 'again'
    } catch (error) {
      // It was told as an event. Whose handler has begun is answered by it.
      if (fill.forgo()) return this.#withoutLoad((error as CacheError).code, isOwn)
    } finally {
      fill.settle()
    }
    if (fill.isClientOurs) await this.#answerInstead(fill)
    return 'answered'
  }

  /** Where the handler answers another request of this process meanwhile, the client is sent that as it grows. */
  async #orFollowed(fill: HandlerRun, loaded: Promise<Loaded>): Promise<Loaded> {
    const { response, selection, askedAt } = this.#client
    const { key, forwarded } = this.#place
    let leave = (): void => undefined
    const followed = new Promise<Loaded>((resolve) => {
      const join = (stream: HandlerRun, head: StoredHead): void => {
        // Who says something else waits for the whole: what the handler reads late may tell them apart.
        if (this.#client.isDone || !stream.mayFollow(selection, head) || !fill.forgo()) return
        follow(response, stream, { head, status: { forwarded, collapsed: true } })
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
  async #answerInstead(fill: HandlerRun): Promise<void> {
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
