import { about, type CacheError } from './errors.ts'
import { holderIn, type Holder } from './holder.ts'
import { quietly } from './quietly.ts'
import type { Shared } from './shared.ts'
import type { SeenLease } from './store.ts'
import { checkToken } from './token.ts'

/** A load that is under way somewhere in the fleet. Durations are milliseconds. */
export interface HeldLease {
  readonly key: string
  /** Names this very load; for `breakLease`. */
  readonly token: string
  /** What the loader was told as its `fence`. */
  readonly fence: bigint
  /** The process that loads, if it is known. */
  readonly holder: Holder | null
  /** What a tracer in that process calls this load, such as a `traceparent`; `null` without one. */
  readonly context: string | null
  /** How long it has been held. */
  readonly age: number
  /** How long it is held at least, unless it is released or broken. */
  readonly left: number
  readonly renewals: number
  /** How many processes wait for it; `null` where the store does not know. */
  readonly waiting: number | null
}

/** A lease, told of a key as callers know it. */
export function toldLease(key: string, seen: SeenLease): HeldLease {
  const { token, fence, holder, context, age, left, renewals, waiting } = seen
  return { key, token, fence, holder: holderIn(holder), context: context || null, age, left, renewals, waiting }
}

/** The leases that are held now, as the store finds them. */
export async function* leasesHeld({ store, named }: Shared): AsyncGenerator<HeldLease, void> {
  const namespace = named('')
  const steps = await store.ask(async ({ inspection }) => inspection?.leases?.(namespace))
  if (steps === undefined) {
    throw new TypeError('Expected a store that can list its leases, which no plain key-value store can')
  }
  try {
    for (;;) {
      // Each step has a deadline, and the whole has none.
      const step = await store.ask(() => steps.next())
      if (step.done === true) return
      for (const lease of step.value) yield toldLease(lease.key.slice(namespace.length), lease)
    }
  } finally {
    // Not awaited: it would wait for a step that the store has not answered.
    quietly(Promise.resolve(steps.return?.()))
  }
}

/** Voids one load; see `Cache.breakLease`. */
export async function breakLease(key: string, token: string, { store, named }: Shared): Promise<boolean> {
  checkToken(token)
  return await store
    .ask(async ({ inspection }) => (await inspection?.breakLease(named(key), token)) ?? false)
    .catch((error: CacheError) => {
      throw about(key, error)
    })
}

/** A lease in a sentence. */
export function leaseOf({ holder, age, left, renewals, waiting }: HeldLease): string {
  const who = holder === null ? 'Somebody' : `Process ${holder.pid} on ${holder.host}`
  const times = `for ${Math.round(age)} ms (renewed ${renewals} times, ${Math.round(left)} ms left)`
  const others = waiting === null ? '' : `; processes that wait: ${waiting}`
  return `${who} has loaded it ${times}${others}`
}
