import { nothing, seconds, type Rendering, type SharedCache } from './shared-cache.ts'

/** An entry of `use cache`, as Next defines it; `stale`, `expire` and `revalidate` are seconds. */
export interface CacheEntry {
  value: ReadableStream<Uint8Array>
  tags: string[]
  stale: number
  /** When its rendering began, in milliseconds. */
  timestamp: number
  expire: number
  revalidate: number
}

/** The interface of `cacheHandlers` of Next. */
export interface UseCacheHandler {
  get(cacheKey: string, softTags: string[]): Promise<CacheEntry | undefined>
  set(cacheKey: string, pendingEntry: Promise<CacheEntry>): Promise<void>
  refreshTags(): Promise<void>
  getExpiration(tags: string[]): Promise<number>
  updateTags(tags: string[], durations?: { expire?: number }): Promise<void>
}

type Kept = Omit<CacheEntry, 'value' | 'timestamp'> & { readonly bytes: Uint8Array }

/** How long an entry that others render anew is passed off as fresh, in seconds, so that Next does not. */
const passedOff = 1

/** The handler of `use cache`, above the cache of the process. */
export function useCacheHandler(shared: () => SharedCache | null): UseCacheHandler {
  return {
    async get(cacheKey, softTags) {
      const { rendered, renders, age } = (await shared()?.find(`use:${cacheKey}`, softTags)) ?? nothing
      if (rendered === null) return undefined
      const { bytes, ...kept } = rendered.what as Kept
      const value = new Response(bytes).body as CacheEntry['value']
      const entry = { ...kept, value, timestamp: now() - age }
      // A negative `revalidate` has Next render in the background.
      if (renders) return { ...entry, revalidate: -1 }
      const isStale = age > kept.revalidate * 1_000
      return isStale ? { ...entry, timestamp: now(), revalidate: passedOff } : entry
    },

    async set(cacheKey, pendingEntry) {
      const rendered = await read(pendingEntry).catch(() => null)
      const { revalidate, expire, tags } = rendered?.what ?? { revalidate: 0, expire: 0, tags: [] }
      // An entry without a life is rendered at every read.
      const its = expire > 0 ? rendered : null
      const options = { ttl: seconds(revalidate), grace: seconds(expire - revalidate), tags }
      await shared()?.store(`use:${cacheKey}`, its, options)
    },

    async refreshTags() {},

    // `get` looks at the tags of paths.
    async getExpiration() {
      return Number.POSITIVE_INFINITY
    },

    async updateTags(tags, durations) {
      await shared()?.update(tags, durations)
    },
  }
}

/** The bytes of an entry, and what is known of it. Rejects if its rendering fails. */
async function read(pending: Promise<CacheEntry>): Promise<Rendering & { readonly what: Kept }> {
  const { value, timestamp, ...rest } = await pending
  const bytes = new Uint8Array(await new Response(value).arrayBuffer())
  return { what: { ...rest, bytes }, began: timestamp - performance.timeOrigin }
}

/** As Next takes the time. */
function now(): number {
  return performance.timeOrigin + performance.now()
}
