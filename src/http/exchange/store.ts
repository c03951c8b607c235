import { randomUUID } from 'node:crypto'
import type { LoadContext } from '../../core/flight/loader.ts'
import type { CallOptions } from '../../core/options/options.ts'
import { ignoreRejection } from '../../core/errors.ts'
import type { Client } from './client.ts'
import type { Decision } from './decide.ts'
import { LateLoad, once } from './late-load.ts'
import type { Forwarded } from '../message/cache-status.ts'
import type { Run } from './run.ts'
import type { Shared } from './shared.ts'
import { variantKey } from '../stored/request-key.ts'
import { fieldsOf } from '../policy/fields.ts'
import type { StaleRules } from '../policy/stale.ts'
import { varyOf } from '../policy/vary.ts'
import type { Inputs } from '../inputs/inputs.ts'
import { ageNow, type StoredHead, type StoredResponse, type Variants } from '../stored/stored-response.ts'
import { conditionsOf, withTag } from '../stored/validators.ts'

/** The record under a key; loads that store nothing return `null`. */
export type Kept = StoredResponse | Variants

/** How long the record of an address with variants lives, in milliseconds. */
export const variantsTtl = 86_400_000

/** The most inputs by which all variants of an address differ because a response said so. */
const mostDeclared = 32

/** The shortest time, in milliseconds, that a response with a validator is kept after its lifetime. */
const leastRetention = 60_000

/**
 * Refusals that concern a single request: another response of the address may be stored, so requests go on to wait for
 * each other.
 */
const isOfItsRequest: ReadonlySet<string> = new Set(['authorization', 'cookie', 'request-no-store'])

const forNobodyElse: StaleRules = { noCache: true, mustRevalidate: true, whileRevalidate: 0, ifError: 0 }

/** The arguments of `Storing`. */
export interface StoringAbout {
  readonly client: Client
  /** The key of the address. */
  readonly key: string
  readonly run: Run
  /** The options for loading a variant. */
  readonly options: CallOptions
}

/** The slot in the store where the response to a request belongs. */
export interface VariantSlot {
  readonly key: string
  /** The inputs of the request that are part of the key. */
  readonly names: readonly string[]
  /** The reason for forwarding a request if the slot is empty. */
  readonly forwarded: Forwarded
}

/** The slot at which every request of an address starts. */
export function firstSlot(key: string): VariantSlot {
  return { key, names: [], forwarded: 'uri-miss' }
}

/**
 * The slot of the variant of a request.
 * @param key the key of the address
 */
export function slotOfVariant(key: string, { names, generation }: Variants, inputs: Inputs): VariantSlot {
  return { key: variantKey(key, `${generation} ${inputs.by(names)}`), names, forwarded: 'vary-miss' }
}

/**
 * Whether a load has no lease although the store answers: nothing of it would be stored, and no other request waits for
 * it.
 */
export function isPassing({ fence }: LoadContext, { isStoreUnavailable }: Shared['sibling']): boolean {
  return fence === null && !isStoreUnavailable
}

/** A load under a lease: its slot and its context. */
interface Load {
  readonly context: LoadContext
  readonly slot: VariantSlot
}

/** Stores the answer of one run of the handler, at the address or in the slot of its variant. */
export class Storing {
  readonly #shared: Shared
  readonly #about: StoringAbout
  readonly #run: Run

  constructor(shared: Shared, about: StoringAbout) {
    this.#shared = shared
    this.#about = about
    this.#run = about.run
  }

  /**
   * The loader: runs the handler and returns the record to store.
   * @returns `null` if nothing is stored
   * @throws Error if the answer failed or is incomplete, or if its client is answered already
   */
  async load(load: Load): Promise<Kept | null> {
    const { context } = load
    // Its load was invalidated and is repeated, or it got its turn too late. Its client is answered, so another request
    // must run the handler.
    if (!this.#run.isOpen) throw new LateLoad('Its client is answered already')
    if (isPassing(context, this.#shared.sibling)) {
      this.#run.runAlone()
      return this.#letOthersPass(context)
    }
    return await this.#streamed(load, () => this.#decided(load, this.#run.begin()))
  }

  /**
   * Stores the answer by its decision; or in the slot of its variant as soon as the handler, still busy, has read an
   * input that its slot does not name, so that other variants need not wait for it.
   */
  async #decided(load: Load, begun: Promise<Decision | null>): Promise<Kept | null> {
    const names = await this.#namesBefore(begun, load)
    if (names !== null) return await this.#keepAsVariant(load, { names }, (variant) => this.#decided(variant, begun))
    const decision = await begun
    if (decision === null) throw new Error('The handler said nothing')
    return await this.#keep(load, decision)
  }

  /** The inputs by which variants differ, if the handler, still busy, reads one that its slot does not name. */
  async #namesBefore(begun: Promise<Decision | null>, { slot }: Load): Promise<readonly string[] | null> {
    // Most handlers of a fast source, and all that answer at once, have decided by now.
    if (this.#run.decision !== null) return null
    return await Promise.race([begun.then(() => null), this.#run.tellsApart(slot.names)])
  }

  /** Opens the answer to followers of this process while its lease is there. */
  async #streamed<T>({ context: { fence }, slot: { key } }: Load, work: () => Promise<T>): Promise<T> {
    const { sibling, streams } = this.#shared
    this.#run.awaitedAt(key)
    if (fence === null) return await work()
    const close = streams.open(key, this.#run, async () => (await sibling.cache.explain(key)).load?.fence === fence)
    try {
      return await work()
    } finally {
      close()
    }
  }

  async #keep(load: Load, decision: Decision): Promise<Kept | null> {
    const { context, slot } = load
    if (decision.names.some((name) => !slot.names.includes(name))) {
      const declared = 'head' in decision ? varyOf(fieldsOf(decision.head.lines)) : '*'
      const isDeclared = declared !== '*' && declared.some((name) => !slot.names.includes(name))
      const more = { names: decision.names, isDeclared }
      return await this.#keepAsVariant(load, more, (variant) => this.#keep(variant, decision))
    }
    if (decision.to === 'pass') return this.#letOthersPass(context, isOfItsRequest.has(decision.why) ? 1 : undefined)
    if (decision.to === 'drop') throw new Error(`The handler answered ${decision.status}`)
    if (decision.to === 'store again' && decision.tags === null) return this.#letOthersPass(context)
    const ended = await this.#run.ended()
    if (ended.state === 'unfit') return this.#letOthersPass(context)
    if (ended.state === 'broken') throw new Error(`The answer of the handler is not whole: ${ended.why}`)
    if (decision.to === 'share') {
      context.ttl(1)
      context.grace(0)
      // Only requests that wait by now are given it: a request that finds it in the store must validate it.
      return { kind: 'response', ...decision.head, lifetime: 0, rules: forNobodyElse, body: ended.body }
    }
    const stored: StoredResponse =
      decision.to === 'store'
        ? { kind: 'response', ...agedNow(withTag(decision.head, ended.body)), body: ended.body }
        : decision.stored
    context.tags(...(decision.tags ?? []))
    context.ttl(Math.max(1, stored.lifetime - stored.initialAge))
    context.grace(retention(stored))
    const { client, key } = this.#about
    // The app, and not the client, chooses the owner of an answer, so variants by owner need no limit.
    if (slot.names.length > 0 && client.user === null) this.#shared.limit.stored(key, slot.key)
    return stored
  }

  /**
   * Moves the load to the slot of its variant, because the answer depends on inputs that the slot does not name.
   *
   * 1. A (`X-Kind: slow`) and B (`X-Kind: fast`) ask for one address; C asks like A. A wins the lease of the address,
   *    and B and C wait for it.
   * 2. A's handler reads `X-Kind`. The answer depends on it, and B must not wait for it any longer.
   * 3. A claims the slot of its variant. Its answer will be stored there, under the lease of that slot.
   * 4. Only then A completes the lease of the address, with the record of the variants, which wakes B and C.
   * 5. B finds its own slot empty, claims it, and runs its handler beside A's. C finds A's slot with A's lease, and
   *    waits there.
   *
   * A record in the slot of a variant concerns this variant alone, so that a handler that reads a field whose name the
   * client makes up (`req.get(`x-${tenant}`)`) leaves the others as they are; unless the handler declares it by `Vary`.
   *
   * With step 4 before step 3 C could win the lease of A's slot, and the handler would run twice for one variant.
   */
  async #keepAsVariant(
    { context, slot: outer }: Load,
    { names: more, isDeclared = false }: { readonly names: readonly string[]; readonly isDeclared?: boolean },
    work: (variant: Load) => Promise<Kept | null>,
  ): Promise<Variants> {
    const { sibling, limit } = this.#shared
    const { client, key, options } = this.#about
    const { names } = outer
    const all = [...new Set([...names, ...more])].sort()
    const variants: Variants = { kind: 'variants', names: all, generation: randomUUID() }
    const slot = slotOfVariant(key, variants, client.inputs)
    // Step 3: resolves as soon as the inner loader runs, which it does under the lease of the slot.
    await new Promise<void>((resolve) => {
      const loader = once((inner) => {
        resolve()
        const variant = { context: inner, slot }
        return this.#streamed(variant, () => work(variant))
      })
      ignoreRejection(sibling.cache.getOrLoad(slot.key, loader, options).finally(resolve))
    })
    context.grace(0)
    context.ttl(variantsTtl)
    if (names.length === 0) return variants
    if (isDeclared && all.length <= mostDeclared) {
      // All variants differ by it from now on. The record in the slot only redirects the present waiters, for a
      // millisecond. If the store is away, no process can read the record at the address.
      await sibling.cache.set(key, variants, { ttl: variantsTtl, grace: 0 }).catch(() => undefined)
      context.ttl(1)
    } else limit.stored(key, outer.key)
    return variants
  }

  #letOthersPass(context: LoadContext, passFor: number = this.#shared.plan.passFor): null {
    context.doNotStore(passFor)
    return null
  }
}

/** Adds the time that the body took to the age of a response, because the store counts from now on. */
function agedNow(head: StoredHead): StoredHead {
  return { ...head, receivedAt: Date.now(), initialAge: ageNow(head) }
}

/**
 * How long a response is kept after its lifetime, in milliseconds: as long as it may be served stale or is worth a
 * validation.
 */
function retention(stored: StoredResponse): number {
  const { lifetime, rules } = stored
  const hasValidator = Object.keys(conditionsOf(stored)).length > 0
  const toValidate = hasValidator ? Math.max(leastRetention, Math.min(lifetime, variantsTtl)) : 0
  return Math.max(rules.whileRevalidate, rules.ifError ?? 0, toValidate)
}
