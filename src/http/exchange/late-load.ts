import type { LoadContext } from '../../core/flight/loader.ts'
import type { ErrorKind } from '../../core/options/options.ts'

/**
 * The error of a load that may not run the handler of its request, because that has begun for an earlier load or is not
 * wanted any more. Another request runs its own.
 */
export class LateLoad extends Error {}

/**
 * A loader that runs once. The load of an answer that an invalidation has voided is repeated, and its new lease would
 * accept the old answer:
 *
 * 1. The handler reads the old row, and is slow.
 * 2. The row changes, and its page is invalidated, which voids the load.
 * 3. The caller of the load claims the key anew, and its loader is called again, under a lease that is newer than the
 *    invalidation. The handler cannot run a second time for one request, and what it says is the old row.
 */
export function once<T>(load: (context: LoadContext) => Promise<T>): (context: LoadContext) => Promise<T> {
  let hasBegun = false
  return async (context) => {
    if (hasBegun) throw new LateLoad('The handler began before this load')
    hasBegun = true
    return await load(context)
  }
}

/** What an error of a load says of the handler: after one that came too late, the next request runs its own at once. */
export function kindOfError(error: unknown): ErrorKind {
  return error instanceof LateLoad ? 'unremembered' : 'failure'
}
