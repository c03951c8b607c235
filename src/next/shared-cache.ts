import { createHash, randomUUID } from 'node:crypto'
import type { Begun, FillOptions, Lead } from '../core/cache/begin.ts'
import type { Cache } from '../core/cache/cache.ts'
import { CacheError, isError, warnOfThrown } from '../core/errors.ts'
import { longestLife } from '../core/time/duration.ts'

/** A rendering. `began` is the time of its beginning by `performance.now()`, or the earliest that it can have been. */
export interface Rendering {
  readonly what: unknown
  readonly began: number
}

/** A rendered entry, as it is stored. */
interface Rendered {
  readonly what: unknown
  /** How long before it was stored its rendering began, in milliseconds: at most, if that is not known. */
  readonly took: number
}

/** The result of a lookup: nothing, so that Next renders; or an entry, and whether to render it anew. */
export interface Lookup {
  readonly rendered: Rendered | null
  readonly renders: boolean
  /** How long ago its rendering began, in milliseconds. */
  readonly age: number
}

export const nothing: Lookup = { rendered: null, renders: true, age: 0 }

/** Other requests wait ten seconds for a rendering, then they render as well. Next gives the life of each entry. */
const reading = { hardTimeout: 10_000, grace: longestLife }

/** The prefix of the tags of paths, which Next checks on every read. */
const ofPaths = '_N_T_'

/**
 * The cache of a process, behind all handlers that Next makes. Next asks for a key only while it renders nothing for it in
 * this process: the request that finds nothing leads, until Next stores its rendering.
 */
export class SharedCache {
  readonly #cache: Cache
  readonly #leads = new Map<string, Lead<Rendered>>()
  /** The updates of this tick: Next tells each of its handlers. */
  readonly #updates = new Map<string, Promise<void>>()

  constructor(cache: Cache) {
    this.#cache = cache
  }

  /** Finds what was rendered for a key; never rejects, because Next can always render. */
  async find(key: string, pathTags: readonly string[] = []): Promise<Lookup> {
    const open = this.#leads.get(key)
    // Its rendering has ended without a result, so that no request should wait for it.
    if (open?.stale === null) this.#take(key)?.skip()
    try {
      return this.#told(key, await this.#cache.begin<Rendered>(storedKey(key, await this.#since(pathTags)), reading))
    } catch (error) {
      warn(error)
      return nothing
    }
  }

  /** Takes in what was rendered for a key; `null` if nothing came of it. Never rejects. */
  async store(key: string, rendering: Rendering | null, options: FillOptions): Promise<void> {
    const lead = this.#take(key)
    if (rendering === null) return lead?.skip()
    try {
      if (lead !== undefined && (await lead.fill(renderedNow(rendering), options)) !== 'over') return
      await this.#storeUnasked(key, rendering, options)
    } catch (error) {
      warn(error)
      // Next has what it has rendered; the next request renders it again.
      lead?.skip()
    }
  }

  /** Invalidates everything with one of these tags; with `expire`, ends its time, and its life so many seconds from now. */
  async update(tags: readonly string[], durations?: { readonly expire?: number | undefined }): Promise<void> {
    const name = JSON.stringify([tags, durations])
    const update = this.#updates.get(name) ?? this.#update(tags, durations)
    this.#updates.set(name, update)
    queueMicrotask(() => this.#updates.delete(name))
    await update
  }

  async #update(tags: readonly string[], durations?: { readonly expire?: number | undefined }): Promise<void> {
    const expire = durations?.expire ?? Number.POSITIVE_INFINITY
    const isHard = durations === undefined || expire <= 0
    const within = Number.isFinite(expire) ? { within: Math.min(expire * 1_000, 2_147_483_647) } : {}
    await Promise.all(tags.map((tag) => this.#cache.set(updateKey(tag), randomUUID(), { ttl: longestLife })))
    await this.#cache.invalidateTags(tags, isHard ? {} : { soft: true, ...within })
  }

  /** The last updates of the tags of paths: they are part of the key, so that older entries are not found. */
  async #since(tags: readonly string[]): Promise<string> {
    const ofThem = tags.filter((tag) => tag.startsWith(ofPaths)).map(updateKey)
    if (ofThem.length === 0) return ''
    const updates = await this.#cache.peekMany<string>(ofThem)
    return updates.map((update) => ('value' in update ? update.value : '')).join('')
  }

  #told(key: string, begun: Begun<Rendered>): Lookup {
    if (begun.state !== 'lead') return found(begun, begun.age, false)
    this.#leads.set(key, begun)
    // Next stores nothing of a page that throws, or of a fetch that fails: such a lead must not stay until somebody asks
    // again. One that has lost its lease must: what it fills was voided.
    const ended = (): void => {
      const isLost = (begun.signal.reason as CacheError).code === 'LEASE_LOST'
      if (!isLost && this.#leads.get(key) === begun) this.#leads.delete(key)
    }
    begun.signal.addEventListener('abort', ended, { once: true })
    return begun.stale === null ? nothing : found({ value: begun.stale.value as Rendered }, begun.stale.age, true)
  }

  #take(key: string): Lead<Rendered> | undefined {
    const lead = this.#leads.get(key)
    this.#leads.delete(key)
    return lead
  }

  /**
   * Stores what Next has rendered without asking before, or for so long that others were told to render. What its tags
   * were updated for since it began is not stored: an update before the lease is noted, and one after it voids the load.
   */
  async #storeUnasked(key: string, rendering: Rendering, options: FillOptions): Promise<void> {
    await this.#cache.expire(storedKey(key, ''))
    const begun = await this.#cache.begin<Rendered>(storedKey(key, ''), reading)
    if (begun.state !== 'lead') return
    const updates = await this.#cache.peekMany((options.tags ?? []).map(updateKey))
    const rendered = renderedNow(rendering)
    // The age of an update is known to the millisecond only.
    const since = rendered.took + 1
    if (updates.some((update) => update instanceof Error || ('age' in update && update.age <= since))) begun.skip()
    else await begun.fill(rendered, options)
  }
}

/** Warns of an error, unless the cache has reported it itself. */
function warn(error: unknown): void {
  if (!(isError(error) && error instanceof CacheError)) warnOfThrown('A cache handler of Next', error)
}

function renderedNow({ what, began }: Rendering): Rendered {
  return { what, took: Math.max(0, performance.now() - began) }
}

function found({ value }: { readonly value: Rendered }, age: number, renders: boolean): Lookup {
  return { rendered: value, renders, age: age + value.took }
}

/** The milliseconds of a life that Next gives in seconds, as far as a cache keeps something. */
export function seconds(given: number): number {
  return Math.min(Math.max(given * 1_000, 1), longestLife)
}

function storedKey(key: string, since: string): string {
  return createHash('sha256').update(since).update('\0').update(key).digest('base64url')
}

function updateKey(tag: string): string {
  return `update:${tag}`
}

const caches = Symbol.for('herdless.next')

/**
 * The cache of this process that a function makes, however often Next loads the module with that function; `null` while
 * Next builds: then the function is not called.
 */
export function sharedCache(make: () => Cache): SharedCache | null {
  if (process.env['NEXT_PHASE'] === 'phase-production-build') return null
  const known = ((globalThis as { [caches]?: Map<string, SharedCache> })[caches] ??= new Map())
  const name = String(make)
  const cache = known.get(name) ?? new SharedCache(make())
  known.set(name, cache)
  return cache
}
