import { shown } from './duration.ts'

/**
 * A key as the stores see it: apart from every key of every other namespace, whatever either holds.
 * A colon in the namespace is escaped, so that `a` + `b:c` and `a:b` + `c` stay two keys.
 */
export function keyspace(namespace: string): string {
  return `${namespace.replaceAll('%', '%25').replaceAll(':', '%3A')}:`
}

/** The longest key, in characters; Redis takes more, but a key is sent with every command. */
export const longestKey = 65_536

/**
 * Throws TypeError unless `key` is a well-formed string of 1 to 65 536 characters.
 * Lone surrogates are refused because UTF-8 has no bytes for them: two such keys would become one in Redis.
 */
export function checkKey(key: unknown): asserts key is string {
  if (typeof key === 'string' && key.length > 0 && key.length <= longestKey && key.isWellFormed()) return
  const got =
    typeof key !== 'string'
      ? shown(key)
      : key.isWellFormed()
        ? `one of ${key.length} characters`
        : 'one with a lone surrogate'
  throw new TypeError(`Expected a key to be a well-formed string of 1 to ${longestKey} characters, got ${got}`)
}

/** The key, if it is one: see `checkKey`. */
export function checkedKey(key: unknown): string {
  checkKey(key)
  return key
}
