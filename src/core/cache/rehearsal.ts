import { answerOf } from '../codec/error-answer.ts'
import { errorForCallers } from '../codec/load-failures.ts'
import { CacheError, closedError, ignoreRejection, isError } from '../errors.ts'
import { unstoredFacts } from '../entry/freshness.ts'
import { always, type Answer } from '../flight/answer.ts'
import { Caller } from '../flight/caller.ts'
import { runLoader, type LoadContext, type LoadRun } from '../flight/loader.ts'
import { Loss } from '../flight/loss.ts'
import { SilentEvents } from '../observe/events.ts'
import { onAbort } from '../time/abort.ts'
import type { SetOptions } from '../options/options.ts'
import type { CachePlan } from '../options/plan.ts'
import { endParts, type CacheParts } from './assembly.ts'
import { Writes } from './writes.ts'

/** A cache of placeholders, on a store of its own in the memory of this process. */
interface Stage {
  readonly parts: CacheParts
  /** They report nothing, for those of the cache do. */
  readonly writes: Writes
}

/** Writes of placeholders, which pass no schema. */
class PlaceholderWrites extends Writes {
  override set(key: string, value: unknown, options?: SetOptions): Promise<void> {
    return super.set(key, placeholderOf(value), { ...options, schema: undefined })
  }
}

/**
 * The mode `observe`: each call runs its loader, and returns its result. A cache of placeholders receives the same calls,
 * and counts hits and loads as a cache would have had them.
 */
export class Rehearsal {
  readonly #plan: CachePlan
  readonly #open: () => CacheParts
  #stage: Stage | null = null
  /** The end of each load of a caller before its time, with its key. */
  readonly #running = new Map<Loss, string>()

  /** @param open makes the parts of the cache of placeholders */
  constructor(plan: CachePlan, open: () => CacheParts) {
    this.#plan = plan
    this.#open = open
  }

  /** Answers a caller by its own loader. */
  async ask(caller: Caller): Promise<unknown> {
    const { key, loader, plan, tags, signal, parent, refresh, askedAtMs: ms } = caller
    const { causalNow, clock, callers, failures, hardDeadlines: deadlines } = this.#staged.parts
    const node = { key, cache: this, parent, waitsFor: new Set<never>(), running: true, permit: null }
    const its = { key, loader, plan, tags, node, clock, deadlines }
    const loss = new Loss()
    this.#running.set(loss, key)
    const loaded = runLoader({ ...its, fence: null, stale: null, permit: null, loss })
    void loaded.then((ended) => {
      this.#running.delete(loss)
      if (ended.state === 'failed') failures.noteOwn(ended.error, key)
      caller.beginning?.ended(endOfLead(ended))
    })
    // Placeholders pass no schema.
    const call = { plan: { ...plan, schema: null, migrate: [] }, tags, signal: undefined }
    const repeated = (context: LoadContext): Promise<unknown> => repeat(loaded, context)
    // The caller's own load reports its error.
    ignoreRejection(callers.ask(new Caller(key, repeated, call, { refresh: refresh !== null, at: causalNow(), ms })))
    let unheard: (() => void) | undefined
    const aborted = new Promise<never>((_never, reject) => {
      unheard = signal && onAbort(signal, () => reject(signal.reason as Error))
    })
    try {
      const answer = answerOf(await Promise.race([loaded.then(valueOf), aborted]))
      return caller.wantsFacts ? { value: answer, ...unstoredFacts } : answer
    } catch (error) {
      throw errorForCallers(error)
    } finally {
      unheard?.()
    }
  }

  /** Writes as the cache does. */
  async write(run: (writes: Writes) => Promise<void>): Promise<void> {
    await run(this.#staged.writes)
  }

  /** Resolves when all that was rehearsed until now has ended. */
  async settled(): Promise<void> {
    const { callers, flights } = this.#stage?.parts ?? {}
    await Promise.allSettled([callers?.settled(), flights?.settled()])
  }

  /** Ends it with its cache: callers that have no answer yet are rejected with CLOSED. */
  async close(): Promise<void> {
    for (const [loss, key] of this.#running) loss.lose(closedError(key))
    await this.end()
  }

  /** Ends it, and forgets what would have been stored; the loads of callers go on. */
  async end(): Promise<void> {
    const { parts } = this.#stage ?? {}
    this.#stage = null
    if (parts === undefined) return
    await endParts(parts)
    await parts.sources.close()
    await parts.store.close()
  }

  get #staged(): Stage {
    if (this.#stage !== null) return this.#stage
    const parts = this.#open()
    parts.store.open()
    return (this.#stage = {
      parts,
      writes: new PlaceholderWrites(this.#plan, { ...parts, events: new SilentEvents() }),
    })
  }
}

/** Repeats the end of a load with a placeholder for its value. */
async function repeat(loaded: Promise<LoadRun>, context: LoadContext): Promise<unknown> {
  const ended = await loaded
  if (ended.state === 'pass') context.doNotStore(ended.passFor)
  if (ended.state === 'value') {
    context.ttl(ended.ttl)
    context.grace(ended.grace)
    context.tags(...ended.tags)
  }
  return placeholderOf(valueOf(ended))
}

/** The end of a load for its leader, whose value is not stored. */
function endOfLead(ended: LoadRun): Answer {
  const end = { currentAsOf: always, freshUntil: always, token: '', facts: unstoredFacts }
  if (ended.state === 'value') return { state: 'value', value: null, ...end }
  const isOwn = ended.state !== 'pass' && isError(ended.error) && ended.error instanceof CacheError
  return isOwn ? { state: 'failed', error: ended.error, currentAsOf: always } : { state: 'pass' }
}

/** `null` and `undefined` stay themselves, because they may have their own ttls. */
function placeholderOf(value: unknown): unknown {
  return value === null || value === undefined ? value : true
}

/** The value of a load; throws its error if it has none. */
function valueOf(loaded: LoadRun): unknown {
  if (loaded.state === 'failed' || loaded.state === 'lost') throw loaded.error
  return loaded.value
}
