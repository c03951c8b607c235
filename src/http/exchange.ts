import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Peeked } from '../core/cache.ts'
import type { CallOptions } from '../core/options.ts'
import { quietly } from '../core/quietly.ts'
import type { Sibling } from '../core/sibling.ts'
import { cacheStatusText, type CacheStatus } from './cache-status.ts'
import type { Old } from './decision.ts'
import { detached } from './detached.ts'
import { Fill } from './fill.ts'
import { filled, variantsTtl, type Keeping, type Kept } from './keeping.ts'
import { firstPlace, isSelected, placeOfVariant, type Place } from './place.ts'
import type { FieldLine, Fields } from './policy/fields.ts'
import type { Request } from './policy/message.ts'
import { reuse, usableOnError, type Stored } from './policy/reuse.ts'
import { linesOf } from './response-arguments.ts'
import type { ResponsePlan } from './response-options.ts'
import { serve } from './serve.ts'
import type { StoredResponse } from './stored-response.ts'

/** What the requests of one cache of responses share. */
export interface ExchangeShared {
  readonly sibling: Sibling
  readonly plan: ResponsePlan
  /** The keys that this process refreshes in the background. */
  readonly refreshing: Set<string>
}

/** How often a request starts over because what it waited for was another variant, or was cut off. */
const mostTurns = 4

/** Responses up to this many bytes travel in the message that wakes those who wait. */
const inlineLimit = 65_536

/** One request, on its way to an answer: stored, another's, or its own. */
export class Exchange {
  readonly #shared: ExchangeShared
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #run: () => void
  readonly #key: string
  /** As the client sent them. */
  readonly #headers: Fields
  /** What stands before has said already. */
  readonly #before: readonly FieldLine[]

  constructor(
    shared: ExchangeShared,
    about: { request: IncomingMessage; response: ServerResponse; run: () => void; key: string },
  ) {
    this.#shared = shared
    this.#request = about.request
    this.#response = about.response
    this.#run = about.run
    this.#key = about.key
    this.#headers = about.request.headers
    this.#before = linesOf(about.response)
  }

  begin(): void {
    const place = firstPlace(this.#key)
    const looked = this.#look(place)
    // A copy in this process is served within the same turn of the event loop.
    if (!(looked instanceof Promise) && this.#serveFound(looked, place)) return
    this.#seek(place, looked).catch((error: unknown) => this.#response.destroy(error as Error))
  }

  /** From place to place, until there is an answer. */
  async #seek(place: Place, looked: Peeked<Kept> | Promise<Peeked<Kept>>): Promise<void> {
    for (let turn = 0; turn < mostTurns; turn++) {
      const found = await looked
      if (found.state !== 'missing' && found.value.kind === 'variants') {
        place = placeOfVariant(this.#key, found.value, this.#headers)
        looked = this.#look(place)
        continue
      }
      if (this.#serveFound(found, place)) return
      const loaded = await this.#load(place, found)
      if (loaded === 'answered') return
      if (loaded === 'again') {
        looked = this.#look(place)
      } else if (loaded.kind === 'variants') {
        looked = { state: 'fresh', value: loaded, age: 0, ttl: variantsTtl }
      } else if (isSelected(loaded, this.#headers)) {
        return this.#serve(loaded, ageNow(loaded), { forwarded: place.forwarded, collapsed: true })
      } else {
        place = firstPlace(this.#key)
        looked = this.#look(place)
      }
    }
    this.#answerAlone('again')
  }

  #look({ key }: Place): Peeked<Kept> | Promise<Peeked<Kept>> {
    const looked = this.#shared.sibling.look<Kept>(key)
    // A store that is away keeps nothing from being answered.
    return looked instanceof Promise ? looked.catch(() => missing) : looked
  }

  /** Serves what was found, if that may be. */
  #serveFound(found: Peeked<Kept>, place: Place): boolean {
    const { plan, sibling } = this.#shared
    const old = this.#oldIn(found)
    const reused = reuse(this.#asked, known(old), { honor: plan.honorRequestDirectives })
    if (reused.use === 'refused') {
      const status = cacheStatusText({ forwarded: place.forwarded, detail: 'only-if-cached' })
      this.#response.writeHead(reused.status, { 'Content-Length': 0, 'Cache-Status': status }).end()
      return true
    }
    if (old === null || reused.use === 'validate' || reused.use === 'load') return false
    if (reused.use === 'fresh') sibling.events.hit(place.key)
    else sibling.events.stale(place.key, old.age, false)
    this.#serveOld(old)
    if (reused.use === 'stale-while-revalidate') this.#refreshBehind(place, old)
    return true
  }

  #oldIn(found: Peeked<Kept>): Old | null {
    if (found.state === 'missing' || found.value.kind !== 'response') return null
    const stored = found.value
    return isSelected(stored, this.#headers) ? { stored, age: stored.initialAge + found.age } : null
  }

  get #asked(): Request {
    return { method: this.#request.method ?? 'GET', fields: this.#headers }
  }

  #serveOld({ stored, age }: Old, status: CacheStatus = {}): void {
    this.#serve(stored, age, { hit: { ttl: stored.lifetime - age }, ...status })
  }

  #serve(stored: StoredResponse, age: number, status: CacheStatus): void {
    if (this.#response.destroyed || this.#response.headersSent) return
    serve(this.#request, this.#response, stored, { age, status })
  }

  #answerAlone(detail: string): void {
    this.#response.setHeader('Cache-Status', cacheStatusText({ forwarded: 'bypass', detail }))
    this.#run()
  }

  /** Has the answer loaded, here or elsewhere. */
  async #load(place: Place, found: Peeked<Kept>): Promise<Kept | 'answered' | 'again'> {
    const { sibling, plan } = this.#shared
    if (this.#request.method === 'HEAD') {
      // Its answer has no body that could be kept.
      this.#answerAlone('method')
      return 'answered'
    }
    const old = this.#oldIn(found)
    const fill = new Fill({
      request: this.#request,
      response: this.#response,
      plan,
      defaultTtl: sibling.defaultTtl,
      run: this.#run,
    })
    const keeping = this.#keeping(old)
    const at: Place = old === null ? place : { ...place, forwarded: 'stale' }
    // What is fresh for the store is to be asked about all the same.
    const verb = found.state === 'fresh' || old?.stored.rules.noCache === true ? 'refresh' : 'getOrLoad'
    try {
      const value = await sibling.cache[verb](
        place.key,
        (context) => filled(keeping, context, fill, at, old),
        keeping.options,
      )
      if (!fill.hasBegun) return value ?? 'again'
    } catch {
      // It was told as an event. Whose handler has begun is answered by it.
      if (!fill.hasBegun) return this.#withoutLoad(old)
    }
    if (fill.isClientOurs) await this.#answerInstead(fill, old)
    return 'answered'
  }

  #keeping(old: Old | null): Keeping {
    const { sibling, plan } = this.#shared
    const { waitTimeout } = plan
    const options: CallOptions = {
      grace: 0,
      inlineLimit,
      ...(waitTimeout === undefined ? {} : { waitTimeout }),
      // Where there is something to serve instead, a handler that fails is left alone for a while.
      ...(old !== null && this.#isUsableOnError(old) ? {} : { failureCooldown: 0 }),
    }
    return { sibling, plan, key: this.#key, headers: this.#headers, options }
  }

  /** The load of another has failed. */
  #withoutLoad(old: Old | null): 'answered' | 'again' {
    if (old === null || !this.#isUsableOnError(old)) return 'again'
    this.#serveOld(old, { detail: 'error' })
    return 'answered'
  }

  #isUsableOnError(old: Old): boolean {
    const { honorRequestDirectives: honor } = this.#shared.plan
    return usableOnError(this.#asked, known(old), { honor, ifError: 0 })
  }

  /** The handler has said that what is stored is right, or has failed: the client is sent what is stored. */
  async #answerInstead(fill: Fill, old: Old | null): Promise<void> {
    await fill.ended()
    fill.reset(this.#before)
    const { decision } = fill
    if (decision?.to === 'store again') {
      const { stored } = decision
      this.#serve(stored, stored.initialAge, { forwarded: 'stale', forwardedStatus: 304, stored: true })
    } else if (decision?.to === 'drop' && old !== null) {
      this.#serveOld(old, { forwardedStatus: decision.status, detail: 'error' })
    }
  }

  /** Has a stale response refreshed when its client has it. */
  #refreshBehind(place: Place, old: Old): void {
    const { refreshing, sibling, plan } = this.#shared
    if (refreshing.has(place.key)) return
    refreshing.add(place.key)
    const keeping = this.#keeping(old)
    const at: Place = { ...place, forwarded: 'stale' }
    const refresh = (): void => {
      const refreshed = sibling.cache.getOrLoad(
        place.key,
        (context) => {
          const response = detached(this.#request, this.#response)
          const about = { request: this.#request, response, plan, defaultTtl: sibling.defaultTtl, run: this.#run }
          return filled(keeping, context, new Fill({ ...about, isBehind: true }), at, old)
        },
        keeping.options,
      )
      quietly(refreshed.finally(() => refreshing.delete(place.key)))
    }
    if (this.#response.closed) refresh()
    else this.#response.once('close', refresh)
  }
}

function known(old: Old): Stored
function known(old: Old | null): Stored | null
function known(old: Old | null): Stored | null {
  return old === null ? null : { ...old.stored.rules, age: old.age, lifetime: old.stored.lifetime }
}

const missing: Peeked<never> = { state: 'missing' }

/** As far as the clocks of the machines agree. */
function ageNow({ initialAge, receivedAt }: StoredResponse): number {
  return initialAge + Math.max(0, Date.now() - receivedAt)
}
