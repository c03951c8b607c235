import {
  CacheError,
  loadFailure,
  type Cache,
  type CallOptions,
  type Duration,
  type Lead,
  type SetOptions,
} from '../../src/index.ts'
import type { LoadContext } from '../../src/core/flight/loader.ts'
import { refinePlan, type CachePlan } from '../../src/core/options/plan.ts'
import type { Happening, Made } from '../support/history.ts'
import type { Asked, Closing, Life, Loading, Notes } from './notes.ts'
import type { LoaderPlan, Operation } from './schedule.ts'

/** One of the fleet. */
export interface Member {
  readonly number: number
  readonly cache: Cache
  /** Resolves so many milliseconds later, by its own clock. */
  readonly pause: (ms: number) => Promise<void>
}

/** One that is there to ask when a write has resolved, and how to have it ask. */
export interface Present {
  readonly member: Member
  readonly ask: (run: () => Promise<unknown>) => void
}

/** Whoever aborted. */
class Left extends Error {
  readonly code = 'LEFT'
}

/** Has the members of a fleet do what a schedule says, and notes what happens. */
export class Player implements Notes {
  readonly happenings: Happening[] = []
  readonly asked = new Map<string, Asked>()
  readonly loading = new Map<string, Loading>()
  /** How long what is set may be served. */
  readonly setting = new Map<string, Life>()
  readonly closing = new Map<number, Closing>()
  readonly #now: () => number
  readonly #plan: CachePlan
  readonly #tagged: boolean
  readonly #present: () => Iterable<Present>
  readonly #open = new Map<number, number>()
  #last = 0
  #count = 0

  /** @param options.tagged whether each value has its key as a tag */
  constructor(options: { now: () => number; plan: CachePlan; present: () => Iterable<Present>; tagged: boolean }) {
    this.#tagged = options.tagged
    this.#now = options.now
    this.#plan = options.plan
    this.#present = options.present
  }

  /** How many calls, writes and closings of a process have no answer yet. */
  open(process: number): number {
    return this.#open.get(process) ?? 0
  }

  /** The moment of the next happening: no two are the same. */
  at(): number {
    // A millionth of a millisecond is more than nothing, and a run has fewer than a hundred thousand happenings.
    return (this.#last = Math.max(this.#now(), this.#last + 1e-6))
  }

  /** Does it; resolves when all that follows from it has been answered. */
  async perform(operation: Operation, member: Member): Promise<void> {
    switch (operation.what) {
      case 'ask': {
        const { key, loader, options, leaves, callers } = operation
        const calls = Array.from({ length: callers }, () => this.ask(member, key, loader, options, { leaves }))
        await Promise.allSettled(calls)
        return
      }
      case 'peek':
        return await this.peek(member, operation.key)
      case 'close':
        return await this.close(member, operation.timeout)
      case 'invalidate': {
        const { key, by, soft, loader } = operation
        const { cache } = member
        await this.#write(member, soft ? 'expire' : 'invalidate', key, () => {
          if (by === 'tag') return cache.invalidateTags([key], { soft })
          return soft ? cache.expire(key) : cache.invalidate(key)
        })
        return this.askAll(key, loader)
      }
      case 'set': {
        const { key, loader, options } = operation
        await this.#write(
          member,
          'set',
          key,
          (made) => member.cache.set(key, made, this.#tagged ? { ...options, tags: [key] } : options),
          options,
        )
        return this.askAll(key, loader)
      }
    }
  }

  /** A call, which is noted and rejects as the cache does. */
  async ask(
    member: Member,
    key: string,
    loader: LoaderPlan,
    options: CallOptions,
    { leaves = null, by = null }: { leaves?: number | null; by?: string | null } = {},
  ): Promise<unknown> {
    const plan = refinePlan(this.#plan, options)
    const call = this.#id(member, 'c')
    this.asked.set(call, { options, by, peek: false, leaves })
    return await this.#answer(member, call, key, plan.waitTimeout, () => {
      const load = (context: LoadContext): unknown => this.#load(member, call, key, loader, context, options)
      // The error of a leader has the tags that it asked with.
      const tags = this.#tagged ? { tags: [key] } : {}
      const asked = loader.leads === true ? begin(member.cache, load, tags) : getOrLoad(member.cache, load)
      if (leaves === null) return asked(key, options)
      const controller = new AbortController()
      const answer = asked(key, { ...options, signal: controller.signal })
      void member.pause(leaves).then(() => controller.abort(new Left('had enough')))
      return answer
    })
  }

  async close(member: Member, timeout: number): Promise<void> {
    const closing: Closing = { at: this.at(), timeout, closedAt: Infinity, error: null }
    this.closing.set(member.number, closing)
    this.#opened(member, 1)
    try {
      await member.cache.close({ timeout })
    } catch (error) {
      closing.error = codeOf(error)
    }
    closing.closedAt = this.at()
    this.#opened(member, -1)
  }

  async peek(member: Member, key: string): Promise<void> {
    const call = this.#id(member, 'c')
    this.asked.set(call, { options: {}, by: null, peek: true, leaves: null })
    const peeked = this.#answer(member, call, key, this.#plan.commandTimeout, async () => {
      const found = await member.cache.peek(key)
      if (found.state === 'missing') throw Object.assign(new Error('There is nothing'), { code: 'NOTHING' })
      return found.value
    })
    await peeked.catch(() => undefined)
  }

  async #answer(
    member: Member,
    call: string,
    key: string,
    within: number,
    answer: () => Promise<unknown>,
  ): Promise<unknown> {
    const process = member.number
    this.#opened(member, 1)
    this.happenings.push({ what: 'call', at: this.at(), process, call, key, within })
    try {
      const value = await answer()
      this.happenings.push({ what: 'answer', at: this.at(), process, call, value })
      return value
    } catch (error) {
      const by = loadIn(error)
      const failed = { what: 'answer' as const, at: this.at(), process, call, error: codeOf(error) }
      this.happenings.push(by === undefined ? failed : { ...failed, by })
      throw error
    } finally {
      this.#opened(member, -1)
    }
  }

  #load(
    member: Member,
    call: string,
    key: string,
    plan: LoaderPlan,
    context: LoadContext,
    options: CallOptions,
  ): unknown {
    const { signal, fence } = context
    const process = member.number
    const load = this.#id(member, 'l')
    const { ttl, grace, failureCooldown, unstorable } = refinePlan(this.#plan, options)
    // What cannot be stored is then as what must not be.
    const isUnstored = plan.ends === 'pass' || (plan.ends === 'unfit' && unstorable === 'pass')
    const noted: LoaderPlan = isUnstored ? { ...plan, ends: 'pass' } : plan
    this.loading.set(load, { plan: noted, ttl: plan.ttl ?? ttl, grace, failureCooldown })
    this.happenings.push({
      what: 'load',
      at: this.at(),
      process,
      load,
      call,
      key,
      fence: fence === null ? null : String(fence),
    })
    const lost = (): void => {
      this.happenings.push({ what: 'lost', at: this.at(), process, load, code: codeOf(signal.reason) })
    }
    // A leader may be told so when its lease is gone.
    if (signal.aborted) lost()
    else signal.addEventListener('abort', lost)
    const ends = (how: 'value' | 'error' | 'pass'): void =>
      void this.happenings.push({ what: 'loaded', at: this.at(), process, load, ends: how })
    // Before it can throw, so that its error has the tag as well.
    if (this.#tagged) context.tags(key)
    if (plan.ends === 'throw') {
      ends('error')
      throw new Error(`of ${load}`)
    }
    return this.#run(member, load, plan, context).then(
      () => {
        if (plan.ttl !== undefined) context.ttl(plan.ttl)
        if (plan.ends === 'pass') context.doNotStore()
        ends(isUnstored ? 'pass' : 'value')
        const made: Made = { key, by: load }
        return plan.ends === 'unfit' ? { ...made, unfit: () => undefined } : made
      },
      (error: unknown) => {
        ends('error')
        if (codeOf(error) === 'CIRCULAR_LOAD') throw error
        throw new Error(`of ${load}`, { cause: error })
      },
    )
  }

  async #run(member: Member, load: string, plan: LoaderPlan, { signal }: LoadContext): Promise<void> {
    const { takes, nested, heeds = false } = plan
    const aborted = new Promise<never>((_, reject) => {
      if (heeds && signal.aborted) reject(signal.reason as Error)
      else if (heeds) signal.addEventListener('abort', () => reject(signal.reason as Error))
    })
    aborted.catch(() => undefined)
    if (takes > 0) await Promise.race([member.pause(takes), aborted])
    if (nested !== undefined) {
      await Promise.race([this.ask(member, nested.key, nested.loader, nested.options, { by: load }), aborted])
    }
    if (plan.ends === 'hang') await aborted
    if (plan.ends === 'error') throw new Error('of the source')
  }

  async #write(
    member: Member,
    kind: 'set' | 'invalidate' | 'expire',
    key: string,
    carryOut: (made: Made) => Promise<void>,
    options: SetOptions = {},
  ): Promise<void> {
    const process = member.number
    const write = this.#id(member, 'w')
    const { ttl, grace } = refinePlan(this.#plan, options)
    if (kind === 'set') this.setting.set(write, { ttl, grace })
    this.#opened(member, 1)
    this.happenings.push({
      what: 'write',
      at: this.at(),
      process,
      write,
      key,
      kind,
      within: this.#plan.commandTimeout,
    })
    // If it is that of another key which was kept meanwhile, this write is judged too mildly, never too harshly.
    let kept = false
    const stop = member.cache.on('kept', () => (kept = true))
    try {
      await carryOut({ key, by: write })
      this.happenings.push({ what: 'written', at: this.at(), process, write, ...(kept ? { error: 'KEPT' } : {}) })
    } catch (error) {
      this.happenings.push({ what: 'written', at: this.at(), process, write, error: codeOf(error) })
    } finally {
      this.#opened(member, -1)
      stop()
    }
  }

  /** Has everybody who is there ask at once: after a write, that is when an old value would be found. */
  askAll(key: string, loader: LoaderPlan): void {
    for (const { member, ask } of this.#present()) {
      ask(() => this.ask(member, key, loader, {}).catch(() => undefined))
    }
  }

  #opened({ number }: Member, by: number): void {
    this.#open.set(number, this.open(number) + by)
  }

  #id({ number }: Member, of: string): string {
    return `${number}.${of}${++this.#count}`
  }
}

/** How a caller asks. */
type Asking = (key: string, options: CallOptions) => Promise<unknown>

function getOrLoad(cache: Cache, load: (context: LoadContext) => unknown): Asking {
  return (key, options) => cache.getOrLoad(key, load, options)
}

/** In two halves: a leader is told so at once, and then does what a loader would. */
function begin(cache: Cache, load: (context: LoadContext) => unknown, tags: CallOptions): Asking {
  return async (key, options) => {
    const begun = await cache.begin(key, { ...options, ...tags })
    if (begun.state !== 'lead') return begun.value
    void lead(begun, load)
    throw Object.assign(new Error('It leads'), { code: 'LEADS' })
  }
}

async function lead(its: Lead<unknown>, load: (context: LoadContext) => unknown): Promise<void> {
  const { key, signal, fence, stale } = its
  const said: { ttl?: Duration; tags?: readonly string[] } = {}
  let skips = false
  const context = {
    key,
    signal,
    fence,
    stale,
    ttl: (ttl: Duration) => void (said.ttl = ttl),
    tags: (...tags: string[]) => void (said.tags = tags),
    doNotStore: () => void (skips = true),
  } as LoadContext
  try {
    const made = await load(context)
    if (skips) its.skip()
    else await its.fill(made, said)
  } catch (error) {
    await its.fail(error)
  }
}

function codeOf(error: unknown): string {
  if (loadFailure(error) !== undefined) return 'LOAD_FAILED'
  if (error instanceof CacheError) return error.code
  const { code } = (error ?? {}) as { code?: unknown }
  return typeof code === 'string' ? code : String(error)
}

/** The load that an error says it is of. */
function loadIn(error: unknown): string | undefined {
  return error instanceof Error ? /of (\d+\.l\d+)/.exec(error.message)?.[1] : undefined
}
