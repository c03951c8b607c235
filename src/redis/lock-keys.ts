/** What Redis takes for a hash tag: what stands between the first brace and the first one after it that closes, if anything. */
const tagged = /^[^{]*\{[^}]+\}/

/**
 * The key of a lock: a plain string under its own name. Braces that are no hash tag are escaped, for what is beside the lock
 * has that name in braces, in the same slot of a cluster.
 */
export function lockKey(name: string): string {
  return tagged.test(name) ? name : name.replaceAll(/[{}%]/g, encodeURIComponent)
}

/** Beside a lock, in its slot of a cluster: a hash tag of its own is kept, else all of it is made one. */
function beside(key: string, what: string): string {
  return tagged.test(key) ? `${key}:${what}` : `{${key}}:${what}`
}

/** Who waits, in order. */
export function queueKey(key: string): string {
  return beside(key, 'queue')
}

/** Until when each who waits keeps its place. */
export function placesKey(key: string): string {
  return beside(key, 'places')
}

/** All keys of a lock, as `take` expects them. */
export function lockKeysOf(key: string): string[] {
  return [key, beside(key, 'fence'), queueKey(key), placesKey(key), beside(key, 'suspect')]
}
