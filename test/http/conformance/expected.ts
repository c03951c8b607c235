import type { Miss } from './compare.ts'
import { withoutCache } from './without-cache.ts'

/** Every required or optimal test that our middleware does not pass, and why; there is no middleware yet. */
export const expected: readonly Miss[] = withoutCache
