import { CacheError } from '../errors.ts'
import { encodeValue, type Stale } from '../codec/payload.ts'
import { unstoredFacts } from '../entry/freshness.ts'
import { always, type Answer } from './answer.ts'
import type { Caller } from './caller.ts'
import { KeyFlight } from './key-flight.ts'
import { runLoader, type LoadResult, type LoadRun } from './loader.ts'
import type { Expected } from '../near/near.ts'
import type { CausalTime } from '../time/clock.ts'
import { Loss } from './loss.ts'
import type { FlightParts } from './parts.ts'
import { enterSource } from './queueing.ts'

/**
 * A flight that loads without a lease, because the store is away or cannot decide who loads. Its value is not stored.
 * An invalidation that this process could not hear of may lie between its beginning and its end, so its answer is
 * current as of its beginning.
 */
export class UnleasedFlight extends KeyFlight {
  /** Whether a loader waits for it: then it does not queue. */
  isUrgent = false
  /** Whether a caller wants a new load. */
  isRefresh = false
  readonly #stale: Stale | null
  readonly #loss = new Loss()
  #take!: (turn: Answer | null) => void
  readonly #turn = new Promise<Answer | null>((resolve) => (this.#take = resolve))

  /** @param stale the value that the load would replace */
  constructor(lead: Caller, parts: FlightParts, stale: Stale | null) {
    super(lead, parts, { state: 'queued', trace: null })
    this.#stale = stale
  }

  /** Whether its source has a limit. */
  get isLimited(): boolean {
    return this.lead.plan.source !== null
  }

  /** Waits for the permit of its source; returns whether its load may begin, which it may not if it was refused. */
  async enters(): Promise<boolean> {
    // Once the store is back, one process may load the key for all, and its value is stored.
    let isBack = false
    const forget = this.parts.sources.of(this.lead.plan.source)?.whenBack(() => {
      isBack = true
      this.queueing?.stop(null)
    })
    const entrance = await enterSource(this, this.parts)
    forget?.()
    if (entrance instanceof CacheError) {
      this.refuse({ state: 'failed', error: entrance, currentAsOf: always })
      return false
    }
    if (this.callers > 0 && !isBack) {
      this.permit = entrance
      return true
    }
    entrance?.giveBack()
    this.refuse({ state: 'again' })
    return false
  }

  /** Ends with a copy that was made since its callers asked; returns whether there is one. */
  endsWithCopy(): boolean {
    const copy = this.isRefresh ? undefined : this.parts.spare?.copyInOutage(this.key, this.lead.plan)
    if (copy === undefined) return false
    // An invalidation by this process drops its copies, and one by another cannot be heard.
    const { value, facts } = copy
    this.refuse({ state: 'value', value, currentAsOf: always, freshUntil: always, token: '', facts })
    return true
  }

  /** Its load may begin. */
  begin(): void {
    if (this.lead.cannotLead) return this.refuse({ state: 'again' })
    this.state = 'loading'
    this.currentAsOf = this.parts.causalNow()
    this.#take(null)
  }

  /** It ends without a load. */
  refuse(answer: Answer): void {
    // A loader that runs gives its permit back itself.
    if (this.state === 'queued') {
      this.permit?.giveBack()
      this.permit = null
    }
    this.#take(answer)
  }

  protected abandon(error: CacheError): void {
    this.queueing?.stop(error)
    this.refuse({ state: 'failed', error, currentAsOf: always })
    this.#loss.lose(error)
  }

  protected async fly(): Promise<Answer> {
    return (await this.#turn) ?? answerOfRun(await this.#load(), this)
  }

  /** Runs the loader. */
  async #load(): Promise<LoadRun> {
    const { clock, events, spare, tracing, failures, modes } = this.parts
    const { hardDeadlines: deadlines } = this.parts
    const { key, lead } = this
    const { loader, plan, tags } = lead
    const began = clock.now()
    events.emit('load', { key, leased: false })
    // A cache that is switched off keeps no copies.
    const expected = modes.current === 'cache' ? (spare?.expectAlone(key) ?? null) : null
    const trace = tracing.begin('load', key)
    const { beginning } = lead
    const own = { node: this, fence: null, stale: this.#stale, loss: this.#loss, permit: this.permit, beginning }
    const loaded = await trace.run(() => runLoader({ key, loader, plan, tags, clock, deadlines, ...own }))
    const run = rememberUnstored(loaded, this, this.parts, expected)
    if (run.state === 'failed') {
      failures.noteOwn(run.error, key)
      events.emit('failure', { key, error: run.error, duration: clock.now() - began })
    }
    spare?.forgo(key, expected)
    trace.end(run.state, 'error' in run ? run.error : undefined)
    return run
  }
}

/**
 * Remembers a loaded value that the store is not given: no caller of this process may get an older one afterwards. What
 * becomes of a value that cannot be stored does not depend on the store.
 */
function rememberUnstored(
  loaded: LoadRun,
  { key, lead: { plan } }: KeyFlight,
  { clock, codec, events, keyspace, spare, unstored }: FlightParts,
  expected: Expected | null,
): LoadRun {
  if (loaded.state !== 'value') return loaded
  const began = clock.now() - loaded.loadTime
  const kept = encodeValue(loaded.value, key, plan.maxValueSize, codec)
  if (kept instanceof CacheError) {
    if (plan.unstorable === 'throw') return { state: 'failed', error: kept, cooldown: 0, tags: loaded.tags }
    events.emit('unstorable', { key, error: kept })
    unstored.add(key, began, null)
    spare?.forget(key)
  } else {
    const payload = Buffer.from(kept)
    unstored.add(key, began, payload)
    const tags = keyspace.tagsOf(key, loaded.tags, plan.version)
    spare?.loaded(key, expected, { ...loaded, tags, payload })
  }
  return loaded
}

function answerOfRun(run: LoadRun, { currentAsOf, lead }: KeyFlight): Answer {
  switch (run.state) {
    case 'value':
      return { state: 'value', value: run.value, currentAsOf, freshUntil: always, token: '', facts: unstoredFacts }
    case 'pass':
      return { state: 'pass', own: { value: run.value, caller: lead.askedAt } }
    default:
      return { state: 'failed', error: run.error, currentAsOf }
  }
}

/** A load that lost its lease to an outage and goes on, for the callers that asked before it began. */
export class LostFlight extends KeyFlight {
  readonly #load: Promise<LoadResult>
  readonly #loss = new Loss()

  constructor(lead: Caller, parts: FlightParts, load: Promise<LoadResult>, began: CausalTime) {
    super(lead, parts, { state: 'loading', trace: null })
    this.#load = load
    this.currentAsOf = began
  }

  protected abandon(error: CacheError): void {
    this.#loss.lose(error)
  }

  protected async fly(): Promise<Answer> {
    const end = await Promise.race([this.#load, this.#loss.promise()])
    if (end instanceof CacheError) return { state: 'failed', error: end, currentAsOf: always }
    if (end.state !== 'value') return { state: 'again' }
    return answerOfRun(this.callers > 0 ? rememberUnstored(end, this, this.parts, null) : end, this)
  }
}
