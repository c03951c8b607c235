/** The keys of one lock. */
export interface LockKeys {
  /** The lock itself: what its holder calls itself. */
  readonly lock: string
  readonly fence: string
  /** Who waits, in order. */
  readonly queue: string
  /** Until when each who waits keeps its place. */
  readonly places: string
  /** Since when its holder is silent. */
  readonly suspect: string
}

/** What Redis takes for a hash tag: what stands between the first brace and the first one after it that closes, if anything. */
const tagged = /^[^{]*\{[^}]+\}/

/** What is escaped where there is none. */
const special = /[{}%]/

/**
 * The key of a lock: a plain string under its own name. Braces that are no hash tag are escaped, for what is beside the lock
 * has that name in braces, in the same slot of a cluster; a hash tag of its own is kept.
 */
export function lockKey(name: string): string {
  if (!special.test(name) || tagged.test(name)) return name
  return name.replaceAll(/[{}%]/g, encodeURIComponent)
}

/** All keys of a lock. */
export function lockKeys(name: string): LockKeys {
  const lock = lockKey(name)
  const beside = tagged.test(lock) ? lock : `{${lock}}`
  return {
    lock,
    fence: `${beside}:fence`,
    queue: `${beside}:queue`,
    places: `${beside}:places`,
    suspect: `${beside}:suspect`,
  }
}
