import type { Peeked } from '../../core/cache/cache.ts'
import { known, type Client } from './client.ts'
import { cutOff } from '../message/http2.ts'
import { variantsTtl, type Kept } from './response-storing.ts'
import { firstSlot, slotOfVariant, type VariantSlot } from './variant-slot.ts'
import { reuse } from '../policy/reuse.ts'
import { ResponseLoad, type Loaded, type ResponseShared } from './response-load.ts'
import { ageNow, type Old } from '../stored/stored-response.ts'

/** How often a request starts over because what it waited for was another variant, or came to nothing. */
const mostTurns = 8

/** One request, on its way to an answer: stored, another's, or its own. */
export class Exchange {
  readonly #shared: ResponseShared
  readonly #client: Client
  readonly #key: string
  /** What goes on when the client has its answer. */
  #behind: Promise<void> | undefined

  /** @param key that of the address */
  constructor(shared: ResponseShared, client: Client, key: string) {
    this.#shared = shared
    this.#client = client
    this.#key = key
  }

  /** @returns when the handler will not be run for this request any more; `undefined` for now */
  begin(): Promise<void> | undefined {
    const place = firstSlot(this.#key)
    const looked = this.#look(place)
    // A copy in this process is served within the same turn of the event loop.
    if (!(looked instanceof Promise) && this.#serveFound(looked, place, true)) return this.#behind
    return this.#seek(place, looked).then(
      () => this.#behind,
      (error: unknown) => cutOff(this.#client.response, error as Error),
    )
  }

  /** From place to place, until there is an answer. */
  async #seek(place: VariantSlot, looked: Peeked<Kept> | Promise<Peeked<Kept>>): Promise<void> {
    for (let turn = 0; turn < mostTurns; turn++) {
      const isNear = !(looked instanceof Promise)
      const found = await looked
      if (found.state !== 'missing' && found.value.kind === 'variants') {
        place = slotOfVariant(this.#key, found.value, this.#client.selection)
        looked = this.#look(place)
        continue
      }
      if (this.#serveFound(found, place, isNear)) return
      const loaded = await this.#load(place, found)
      if (loaded === 'answered') return
      if (loaded === 'again' || loaded === 'failed') {
        // Those who wait for what fails run it one after the other, as long as their patience lasts.
        if (loaded === 'failed') turn--
        looked = this.#look(place)
      } else if (loaded.kind === 'variants') {
        looked = { state: 'fresh', value: loaded, age: 0, ttl: variantsTtl }
      } else if (this.#client.selection.mayHave(loaded)) {
        return this.#client.serve(loaded, ageNow(loaded), { forwarded: place.forwarded, collapsed: true })
      } else {
        place = firstSlot(this.#key)
        looked = this.#look(place)
      }
    }
    this.#client.goOn('again')
  }

  #look({ key }: VariantSlot): Peeked<Kept> | Promise<Peeked<Kept>> {
    const looked = this.#shared.sibling.look<Kept>(key)
    // A store that is away keeps nothing from being answered.
    return looked instanceof Promise ? looked.catch(() => missing) : looked
  }

  /** Serves what was found, if that may be. @param isNear whether it is a copy in this process */
  #serveFound(found: Peeked<Kept>, place: VariantSlot, isNear: boolean): boolean {
    const { sibling } = this.#shared
    const old = this.#oldIn(found)
    const { asked, honor } = this.#client
    const reused = reuse(asked, old === null ? null : known(old), { honor })
    if (reused.use === 'refused') {
      this.#client.refuse(reused.status, { forwarded: place.forwarded, detail: 'only-if-cached' })
      return true
    }
    if (old === null || reused.use === 'validate' || reused.use === 'load') return false
    if (reused.use === 'fresh' && isNear) sibling.events.nearHit(place.key)
    else if (reused.use === 'fresh') sibling.events.hit(place.key)
    else sibling.events.stale(place.key, old.age, false)
    // Hono and Fastify route HEAD before the cache and drop the body, even if the method is changed here.
    const mayRefresh = reused.use === 'stale-while-revalidate' && asked.method === 'GET'
    // What earlier middleware has said stands in the response until that is sent.
    const refresh = mayRefresh ? this.#loadFor(place, old) : null
    this.#client.serveOld(old)
    if (refresh !== null) this.#behind = refresh.behind()
    return true
  }

  async #load(place: VariantSlot, found: Peeked<Kept>): Promise<Loaded> {
    if (this.#client.request.method === 'HEAD') {
      // Its answer has no body that could be kept.
      this.#client.goOn('head', place.forwarded)
      return 'answered'
    }
    const old = this.#oldIn(found)
    const load = this.#loadFor(place, old, this.#isOfOthers(found))
    const { plan, waiters } = this.#shared
    const leave = waiters.enter(place.key, this.#client, plan.maxWaiters)
    if (leave === null) return load.overloaded()
    try {
      // What is fresh for the store is to be asked about all the same.
      const isRefresh = found.state === 'fresh' || old?.stored.rules.noCache === true
      return await load.answer(isRefresh ? 'refresh' : found.state === 'missing' ? 'load' : 'getOrLoad')
    } finally {
      leave()
    }
  }

  #loadFor(place: VariantSlot, old: Old | null, isOfOthers = false): ResponseLoad {
    return new ResponseLoad(this.#shared, { client: this.#client, key: this.#key, place, old, isOfOthers })
  }

  /** Whether what was found is for others, before whose cache something else has stood. */
  #isOfOthers(found: Peeked<Kept>): boolean {
    return (
      found.state !== 'missing' &&
      found.value.kind === 'response' &&
      found.value.before !== this.#client.selection.before
    )
  }

  #oldIn(found: Peeked<Kept>): Old | null {
    if (found.state === 'missing' || found.value.kind !== 'response') return null
    const stored = found.value
    return this.#client.selection.mayHave(stored) ? { stored, age: stored.initialAge + found.age } : null
  }
}

const missing: Peeked<never> = { state: 'missing' }
