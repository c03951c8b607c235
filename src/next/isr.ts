import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { nothing, seconds, type SharedCache } from './shared-cache.ts'

/** A page, a route, a fetch or an image, as Next stores it; `null` for a page that was not found. */
export type IsrValue = {
  readonly kind: string
  readonly headers?: Readonly<Record<string, unknown>>
  readonly tags?: string[]
  readonly revalidate?: number
} | null

/** The arguments of Next about a value that it gets or sets; times are seconds. */
export interface IsrContext {
  readonly kind?: string
  readonly fetchCache?: boolean
  readonly tags?: string[]
  readonly softTags?: string[]
  readonly revalidate?: number | false
  readonly cacheControl?: { readonly revalidate: number | false; readonly expire?: number | undefined } | undefined
}

/** The interface of `cacheHandler` of Next. */
export interface IsrHandler {
  get(cacheKey: string, context: IsrContext): Promise<(Kept & { readonly lastModified: number }) | null>
  set(cacheKey: string, value: IsrValue, context: IsrContext): Promise<void>
  revalidateTag(tags: string | string[], durations?: { expire?: number }): Promise<void>
  resetRequestCache(): void
}

interface Kept {
  readonly value: IsrValue
  readonly cacheControl: NonNullable<IsrContext['cacheControl']>
}

/** How long Next renders a page at most, in milliseconds. */
const longestRender = 60_000

/** The longest life that Next gives, in seconds. */
const forEver = 3_155_760_000

/** The handler of pages, routes and fetches, above the cache of the process. */
export function isrHandler(shared: () => SharedCache | null, directory: string | undefined): IsrHandler {
  const build = buildIn(directory)
  // A page is one of its build, whose files it names; what was fetched is not.
  const keyOf = (key: string, isFetch: boolean): string => (isFetch ? `fetch:${key}` : `page:${build}:${key}`)
  return {
    async get(cacheKey, { kind, softTags }) {
      const { rendered, renders } = (await shared()?.find(keyOf(cacheKey, kind === 'FETCH'), softTags)) ?? nothing
      if (rendered === null) return null
      const kept = rendered.what as Kept
      // Another process renders it anew: it passes for fresh, so that Next does not.
      if (!renders) return { ...kept, lastModified: Date.now() }
      const { revalidate } = kept.cacheControl
      // Next does not notice that an entry without an end is stale, so it gets none.
      return revalidate === false ? null : { ...kept, lastModified: Date.now() - (revalidate + 1) * 1_000 }
    },

    async set(cacheKey, value, context) {
      const { revalidate: given = value?.revalidate ?? false, fetchCache } = context
      const { cacheControl = { revalidate: given } } = context
      const { revalidate, expire = forEver } = cacheControl
      const fresh = revalidate === false ? forEver : revalidate
      const its = fresh > 0 ? { what: { value, cacheControl }, began: performance.now() - longestRender } : null
      const options = { ttl: seconds(fresh), grace: seconds(expire - fresh), tags: tagsOf(value, context) }
      await shared()?.store(keyOf(cacheKey, fetchCache === true), its, options)
    },

    async revalidateTag(tags, durations) {
      await shared()?.update([tags].flat(), durations)
    },

    resetRequestCache() {},
  }
}

function tagsOf(value: IsrValue, { tags }: IsrContext): readonly string[] {
  const header = value?.headers?.['x-next-cache-tags']
  const ofPage = value?.kind !== 'FETCH' && typeof header === 'string' ? header.split(',') : []
  return [...new Set([...(value?.tags ?? tags ?? []), ...ofPage])]
}

function buildIn(directory: string | undefined): string {
  try {
    return readFileSync(join(directory ?? '.next/server', '../BUILD_ID'), 'utf8')
  } catch {
    return 'development'
  }
}
