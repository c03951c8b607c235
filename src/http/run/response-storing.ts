import { randomUUID } from 'node:crypto'
import type { LoadContext } from '../../core/load/loader.ts'
import type { CallOptions } from '../../core/options/options.ts'
import { ignoreRejection } from '../../core/errors.ts'
import type { Sibling } from '../../core/cache/sibling.ts'
import type { Decision } from './decision.ts'
import type { HandlerRun } from './handler-run.ts'
import { slotOfVariant, type VariantSlot } from './variant-slot.ts'
import type { StaleRules } from '../policy/stale.ts'
import type { ResponsePlan } from '../options/response-options.ts'
import type { Selection } from '../watch/selection.ts'
import type { Streams } from './streams.ts'
import { ageNow, type StoredHead, type StoredResponse, type Variants, type Old } from '../stored/stored-response.ts'
import type { VariantLimit } from './variant-limit.ts'
import { conditionsOf, withTag } from '../stored/validators.ts'

/** What there is under a key: `null` where nothing may be kept. */
export type Kept = StoredResponse | Variants

/** How long it is known by what the responses of an address differ, in milliseconds. */
export const variantsTtl = 86_400_000

/** How long a response that can be validated is kept to be asked about, at least as long as it was fresh; milliseconds. */
const leastRetention = 60_000

/** Why a response is not stored to which another one of the same address may be: nobody else is to be let through for it. */
const isOfItsRequest: ReadonlySet<string> = new Set(['authorization', 'cookie', 'request-no-store'])

const forNobodyElse: StaleRules = { noCache: true, mustRevalidate: true, whileRevalidate: 0, ifError: 0 }

/** What the storing of the responses to one request works with. */
export interface ResponseStoringParts {
  readonly sibling: Sibling
  readonly plan: ResponsePlan
  readonly streams: Streams
  /** The key of the address. */
  readonly key: string
  readonly selection: Selection
  /** With which variants are loaded. */
  readonly options: CallOptions
  readonly limit: VariantLimit
  /** Whether the answer is of one user, in the words of the option. */
  readonly isOfUser: boolean
}

/** The slot that a load fills, and its context. */
interface Load {
  readonly context: LoadContext
  readonly slot: VariantSlot
}

/** Stores the answer of one run of the handler: at the address, or in the slot of its variant. */
export class ResponseStoring {
  readonly #parts: ResponseStoringParts
  readonly #run: HandlerRun

  constructor(parts: ResponseStoringParts, run: HandlerRun) {
    this.#parts = parts
    this.#run = run
  }

  /** A loader: has the handler answer, and returns what may be kept of the answer. @param old what the handler is asked about */
  async load(context: LoadContext, slot: VariantSlot, old: Old | null): Promise<Kept | null> {
    const { sibling } = this.#parts
    // Its load was voided, and is to be done again, or its turn has come late. Its client has its answer: another client must.
    if (!this.#run.isOpen) throw new Error('Its client is answered already')
    // Nothing of it would be kept, and no client waits for it.
    if (context.fence === null && !sibling.isAway) {
      this.#run.pass(slot.forwarded)
      return this.#pass(context)
    }
    const load = { context, slot }
    return await this.#streamed(load, () => this.#decided(load, this.#run.begin(old, slot.forwarded)))
  }

  /** Others do not wait for a handler that takes its time with what is for some: that is made in a slot of its own. */
  async #decided(load: Load, begun: Promise<Decision | null>): Promise<Kept | null> {
    const names = await Promise.race([begun.then(() => null), this.#run.tellsApart(load.slot.names)])
    if (names !== null) return await this.#keepAsVariant(load, names, (variant) => this.#decided(variant, begun))
    const decision = await begun
    if (decision === null) throw new Error('The handler said nothing')
    return await this.#keep(load, decision)
  }

  /** Others in this process may have the answer as it grows, as long as its lease is there. */
  async #streamed<T>({ context: { fence }, slot: { key } }: Load, work: () => Promise<T>): Promise<T> {
    const { sibling, streams } = this.#parts
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
    if ('names' in decision && decision.names.some((name) => !slot.names.includes(name))) {
      return await this.#keepAsVariant(load, decision.names, (variant) => this.#keep(variant, decision))
    }
    if (decision.to === 'pass') return this.#pass(context, isOfItsRequest.has(decision.why) ? 1 : undefined)
    if (decision.to === 'drop') throw new Error(`The handler answered ${decision.status}`)
    if (decision.to === 'store again' && decision.tags === null) return this.#pass(context)
    const ended = await this.#run.ended()
    if (ended.state === 'unfit') return this.#pass(context)
    if (ended.state === 'broken') throw new Error(`The answer of the handler is not whole: ${ended.why}`)
    if (decision.to === 'share') {
      context.ttl(1)
      context.grace(0)
      // A client that finds it, and did not wait for it, has come too late for it.
      return { kind: 'response', ...decision.head, lifetime: 0, rules: forNobodyElse, body: ended.body }
    }
    const stored: StoredResponse =
      decision.to === 'store'
        ? { kind: 'response', ...agedNow(withTag(decision.head, ended.body)), body: ended.body }
        : decision.stored
    context.tags(...(decision.tags ?? []))
    context.ttl(Math.max(1, stored.lifetime - stored.initialAge))
    context.grace(retention(stored))
    const { isOfUser, limit, key } = this.#parts
    // Whose an answer is, the app knows, and no client makes it up.
    if (slot.names.length > 0 && !isOfUser) limit.stored(key, slot.key)
    return stored
  }

  /** The answer differs by fields that were not known to matter: it is kept in a slot of its own, and others are told. */
  async #keepAsVariant(
    { context, slot: { names } }: Load,
    more: readonly string[],
    work: (variant: Load) => Promise<Kept | null>,
  ): Promise<Variants> {
    const { sibling, key, selection, options } = this.#parts
    const all = [...new Set([...names, ...more])].sort()
    const variants: Variants = { kind: 'variants', names: all, generation: randomUUID() }
    const slot = slotOfVariant(key, variants, selection)
    // It has its lease before others can ask for it.
    await new Promise<void>((resolve) => {
      const loader = (inner: LoadContext): Promise<Kept | null> => {
        resolve()
        const variant = { context: inner, slot }
        return this.#streamed(variant, () => work(variant))
      }
      ignoreRejection(sibling.cache.getOrLoad(slot.key, loader, options).finally(resolve))
    })
    // A client that waits here asks again there; those who come later find it at the address.
    const isAtAddress = names.length === 0
    // Where the store is away, so are all that could find it.
    if (!isAtAddress) await sibling.cache.set(key, variants, { ttl: variantsTtl, grace: 0 }).catch(() => undefined)
    context.ttl(isAtAddress ? variantsTtl : 1)
    context.grace(0)
    return variants
  }

  #pass(context: LoadContext, passFor: number = this.#parts.plan.passFor): null {
    context.doNotStore(passFor)
    return null
  }
}

/** What has a body that took its time is as old as its head, and the store counts from now on. */
function agedNow(head: StoredHead): StoredHead {
  return { ...head, receivedAt: Date.now(), initialAge: ageNow(head) }
}

/** How long a response is kept beyond its time: as long as it may be served stale, or is worth asking about. */
function retention(stored: StoredResponse): number {
  const { lifetime, rules } = stored
  const hasValidator = Object.keys(conditionsOf(stored)).length > 0
  const toValidate = hasValidator ? Math.max(leastRetention, Math.min(lifetime, variantsTtl)) : 0
  return Math.max(rules.whileRevalidate, rules.ifError ?? 0, toValidate)
}
