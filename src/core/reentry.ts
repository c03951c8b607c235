import { AsyncLocalStorage } from 'node:async_hooks'
import type { LockLease } from './lock.ts'

/** A lock that the running work holds, as a link of the chain of all that it holds. */
interface Holding {
  readonly lock: object
  readonly lease: LockLease
  readonly outer: Holding | undefined
}

/** What the work holds that is running, in the asynchronous context of the caller. One chain for all locks. */
const holding = new AsyncLocalStorage<Holding>()

/** Runs `work` as the holder of a lease. */
export function runHolding<T>(lock: object, lease: LockLease, work: () => T): T {
  return holding.run({ lock, lease, outer: holding.getStore() }, work)
}

/** The lease of this name that the caller holds already; not one that has ended, though work that it began runs on. */
export function heldHere(lock: object, name: string): LockLease | null {
  for (let held = holding.getStore(); held !== undefined; held = held.outer) {
    if (held.lock === lock && held.lease.name === name && held.lease.isValid()) return held.lease
  }
  return null
}

/** A lease within a lease of the same name: it is the same, but giving it back gives nothing back. */
export function nested(outer: LockLease): LockLease {
  return {
    name: outer.name,
    token: outer.token,
    fence: outer.fence,
    get signal() {
      return outer.signal
    },
    remaining: () => outer.remaining(),
    isValid: (margin) => outer.isValid(margin),
    assertValid: (margin) => outer.assertValid(margin),
    extend: (ttl) => outer.extend(ttl),
    release: async () => (outer.isValid() ? 'released' : 'lost'),
    [Symbol.asyncDispose]: async () => undefined,
  }
}
