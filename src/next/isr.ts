import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { nothing, type SharedCache } from './shared-cache.ts'

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
  get(
    cacheKey: string,
    context: IsrContext,
  ): Promise<{
    lastModified: number
    value: IsrValue
    cacheControl?: NonNullable<IsrContext['cacheControl']>
  } | null>
  set(cacheKey: string, value: IsrValue, context: IsrContext): Promise<void>
  revalidateTag(tags: string | string[], durations?: { expire?: number }): Promise<void>
  resetRequestCache(): void
}

interface Kept {
  readonly value: IsrValue
  readonly control: NonNullable<IsrContext['cacheControl']>
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
      const { value, control } = rendered.what as Kept
      // Another process renders it anew: it passes for fresh, so that Next does not.
      if (!renders) return { value, lastModified: Date.now(), cacheControl: control }
      // Next does not notice that an entry without an end is stale, so it gets none.
      if (control.revalidate === false) return null
      return { value, lastModified: Date.now() - (control.revalidate + 1) * 1_000, cacheControl: control }
    },

    async set(cacheKey, value, context) {
      const { cacheControl, revalidate: given = value?.revalidate, fetchCache } = context
      const control = cacheControl ?? { revalidate: given ?? false }
      const fresh = control.revalidate === false ? forEver : control.revalidate
      const its = fresh > 0 ? { what: { value, control }, took: longestRender } : null
      const life = { fresh, stale: (control.expire ?? forEver) - fresh }
      await shared()?.store(keyOf(cacheKey, fetchCache === true), its, life, tagsOf(value, context))
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
