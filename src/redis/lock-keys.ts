/** Beside a lock, in its slot of a cluster: a hash tag of its own is kept, else all of it is made one. */
function beside(key: string, what: string): string {
  return /\{[^}]+\}/.test(key) ? `${key}:${what}` : `{${key}}:${what}`
}

/** Who waits, in order. */
export function queueKey(key: string): string {
  return beside(key, 'queue')
}

/** Until when each who waits keeps its place. */
export function placesKey(key: string): string {
  return beside(key, 'places')
}

/** All keys of a lock, as `take` expects them: the lock itself is a plain string under its own name. */
export function lockKeysOf(key: string): string[] {
  return [key, beside(key, 'fence'), queueKey(key), placesKey(key), beside(key, 'suspect')]
}
