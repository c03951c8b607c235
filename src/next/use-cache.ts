import { nothing, type SharedCache } from './shared-cache.ts'

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
      const entry = { ...kept, value: streamOf(bytes), timestamp: now() - age }
      // A negative `revalidate` has Next render in the background.
      if (renders) return { ...entry, revalidate: -1 }
      const isStale = age > kept.revalidate * 1_000
      return isStale ? { ...entry, timestamp: now(), revalidate: passedOff } : entry
    },

    async set(cacheKey, pendingEntry) {
      const entry = await read(pendingEntry)
      const [rendered, { revalidate, expire, tags }] = entry ?? [null, { revalidate: 0, expire: 0, tags: [] }]
      // An entry without a life is rendered at every read.
      const its = expire > 0 ? rendered : null
      await shared()?.store(`use:${cacheKey}`, its, { fresh: revalidate, stale: expire - revalidate }, tags)
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

/** The bytes of an entry, and what is known of it; `null` if its rendering fails. */
async function read(pending: Promise<CacheEntry>): Promise<[{ what: Kept; took: number }, CacheEntry] | null> {
  try {
    const entry = await pending
    const { value, timestamp, ...rest } = entry
    const bytes = new Uint8Array(await new Response(value).arrayBuffer())
    return [{ what: { ...rest, bytes }, took: Math.max(0, now() - timestamp) }, entry]
  } catch {
    return null
  }
}

function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(bytes)
      controller.close()
    },
  })
}

/** As Next takes the time. */
function now(): number {
  return performance.timeOrigin + performance.now()
}
