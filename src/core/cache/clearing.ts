import type { Store } from '../contract/store.ts'

/** How many keys are invalidated at once. */
const together = 256

/** Runs an operation on the store, with whatever stands before it. */
type Ask = <T>(run: (store: Store) => Promise<T>) => Promise<T>

/**
 * Lists the keys of a namespace, by their names in the store, a step at a time: first the keys with a load, then the
 * keys with a value. The race that this order survives, with process A that loads and process B that clears:
 *
 * 1. A is granted the lease of key k, and loads.
 * 2. B lists the values: k has none. A fills, which ends the lease. Then B lists the leases: k has none.
 *
 * Listed first, the lease of k is either found, or has ended before the values are listed.
 * @returns `null` if the store cannot list its keys
 */
export async function namesIn(namespace: string, ask: Ask): Promise<AsyncGenerator<readonly string[], void> | null> {
  const canList = await ask(async ({ inspection }) => inspection?.names !== undefined)
  return canList ? listed(namespace, ask) : null
}

async function* listed(namespace: string, ask: Ask): AsyncGenerator<readonly string[], void> {
  for (const of of ['loads', 'values'] as const) {
    const steps = await ask(async ({ inspection }) => inspection?.names?.(namespace, of))
    for (;;) {
      // A deadline per step, and none for the whole.
      const step = await ask(async () => await steps?.next())
      if (step === undefined || step.done === true) break
      if (step.value.length > 0) yield step.value
    }
  }
}

/** Runs an operation for each of many, also if one fails; then throws the first error. */
export async function eachOf<T>(all: readonly T[], run: (each: T) => Promise<void>): Promise<void> {
  let failure: PromiseRejectedResult | undefined
  for (let at = 0; at < all.length; at += together) {
    const ends = await Promise.allSettled(all.slice(at, at + together).map(run))
    failure ??= ends.find((end) => end.status === 'rejected')
  }
  if (failure !== undefined) throw failure.reason
}
