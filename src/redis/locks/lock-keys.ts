/** The keys of one lock. */
export interface LockKeys {
  /** The lock itself; its value is the holder's token. */
  readonly lock: string
  readonly fence: string
  /** The waiters, in order. */
  readonly queue: string
  /** Until when each waiter keeps its place. */
  readonly places: string
  /** Since when its holder is silent. */
  readonly suspect: string
}

/**
 * A name with a hash tag, as Redis defines it: a non-empty text between the first brace and the first closing one after
 * it.
 */
const tagged = /^[^{]*\{[^}]+\}/

/** The characters to escape in a name without a hash tag. */
const special = /[{}%]/

/**
 * The key of a lock: its own name, a plain string. Braces without a hash tag are escaped, because the keys beside the
 * lock have its name in braces, to share its slot in a cluster; and so are percent signs, so that no two names have the
 * same key. A hash tag of the user stays.
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
