import { randomUUID } from 'node:crypto'
import type { LoadContext } from '../../core/load/loader.ts'
import type { CallOptions } from '../../core/options/options.ts'
import { ignoreRejection } from '../../core/errors.ts'
import type { Sibling } from '../../core/cache/sibling.ts'
import type { Decision } from './decision.ts'
import type { Fill } from './handler-run.ts'
import { placeOfVariant, type Place } from './variant-slot.ts'
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

/** What a loader of one request has to know. */
export interface Keeping {
  readonly sibling: Sibling
  readonly plan: ResponsePlan
  readonly streams: Streams
  /** That of the address. */
  readonly key: string
  readonly selection: Selection
  readonly options: CallOptions
  readonly limit: VariantLimit
  /** Whether the answer is of one user, in the words of the option. */
  readonly isOfUser: boolean
}

/** Loads what is to be kept at a place: has the handler answer, and keeps of it what may be kept. */
export async function filled(
  keeping: Keeping,
  context: LoadContext,
  fill: Fill,
  place: Place,
  old: Old | null,
): Promise<Kept | null> {
  // Its load was voided, and is to be done again, or its turn has come late. Its client has its answer: somebody else must.
  if (!fill.isOpen) throw new Error('Its client is answered already')
  // Nothing of it would be kept, and nobody waits for it.
  if (context.fence === null && !keeping.sibling.isAway) {
    fill.pass(place.forwarded)
    return passed(context, keeping.plan.passFor)
  }
  return await streamed(keeping, context, fill, place, () => {
    return decided(keeping, context, fill, place, fill.begin(old, place.forwarded))
  })
}

/** Others do not wait for a handler that takes its time with what is for some: that is made in a place of its own. */
async function decided(
  keeping: Keeping,
  context: LoadContext,
  fill: Fill,
  place: Place,
  begun: Promise<Decision | null>,
): Promise<Kept | null> {
  const names = await Promise.race([begun.then(() => null), fill.tellsApart(place.names)])
  if (names !== null) {
    return await keptAsVariant(keeping, context, fill, { place, names }, (inner, own) => {
      return decided(keeping, inner, fill, own, begun)
    })
  }
  const decision = await begun
  if (decision === null) throw new Error('The handler said nothing')
  return await kept(keeping, context, fill, place, decision)
}

/** Others in this process may have the answer as it grows, as long as its lease is there. */
async function streamed<T>(
  { sibling, streams }: Keeping,
  { fence }: LoadContext,
  fill: Fill,
  { key }: Place,
  work: () => Promise<T>,
): Promise<T> {
  fill.awaitedAt(key)
  if (fence === null) return await work()
  const close = streams.open(key, fill, async () => (await sibling.cache.explain(key)).load?.fence === fence)
  try {
    return await work()
  } finally {
    close()
  }
}

async function kept(
  keeping: Keeping,
  context: LoadContext,
  fill: Fill,
  place: Place,
  decision: Decision,
): Promise<Kept | null> {
  if ('names' in decision && decision.names.some((name) => !place.names.includes(name))) {
    return await keptAsVariant(keeping, context, fill, { place, names: decision.names }, (inner, own) => {
      return kept(keeping, inner, fill, own, decision)
    })
  }
  const { passFor } = keeping.plan
  if (decision.to === 'pass') return passed(context, isOfItsRequest.has(decision.why) ? 1 : passFor)
  if (decision.to === 'drop') throw new Error(`The handler answered ${decision.status}`)
  if (decision.to === 'store again' && decision.tags === null) return passed(context, passFor)
  const ended = await fill.ended()
  if (ended.state === 'unfit') return passed(context, passFor)
  if (ended.state === 'broken') throw new Error(`The answer of the handler is not whole: ${ended.why}`)
  if (decision.to === 'share') {
    context.ttl(1)
    context.grace(0)
    // Whoever finds it, and did not wait for it, has come too late for it.
    return { kind: 'response', ...decision.head, lifetime: 0, rules: forNobodyElse, body: ended.body }
  }
  const stored: StoredResponse =
    decision.to === 'store'
      ? { kind: 'response', ...agedNow(withTag(decision.head, ended.body)), body: ended.body }
      : decision.stored
  context.tags(...(decision.tags ?? []))
  context.ttl(Math.max(1, stored.lifetime - stored.initialAge))
  context.grace(retention(stored))
  // Whose an answer is, the app knows, and no client makes it up.
  if (place.names.length > 0 && !keeping.isOfUser) keeping.limit.stored(keeping.key, place.key)
  return stored
}

/** The answer differs by fields that were not known to matter: it is kept in a place of its own, and others are told. */
async function keptAsVariant(
  keeping: Keeping,
  context: LoadContext,
  fill: Fill,
  { place: { names }, names: more }: { readonly place: Place; readonly names: readonly string[] },
  work: (inner: LoadContext, place: Place) => Promise<Kept | null>,
): Promise<Variants> {
  const { sibling, key, selection, options } = keeping
  const all = [...new Set([...names, ...more])].sort()
  const variants: Variants = { kind: 'variants', names: all, generation: randomUUID() }
  const place = placeOfVariant(key, variants, selection)
  // It has its lease before others can ask for it.
  await new Promise<void>((resolve) => {
    const loader = (inner: LoadContext): Promise<Kept | null> => {
      resolve()
      return streamed(keeping, inner, fill, place, () => work(inner, place))
    }
    ignoreRejection(sibling.cache.getOrLoad(place.key, loader, options).finally(resolve))
  })
  // Whoever waits here asks again there; those who come later find it at the address.
  const isAtAddress = names.length === 0
  // Where the store is away, so are all that could find it.
  if (!isAtAddress) await sibling.cache.set(key, variants, { ttl: variantsTtl, grace: 0 }).catch(() => undefined)
  context.ttl(isAtAddress ? variantsTtl : 1)
  context.grace(0)
  return variants
}

function passed(context: LoadContext, passFor: number): null {
  context.doNotStore(passFor)
  return null
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
