import { formatValue } from '../time/duration.ts'
import { createHash } from 'node:crypto'

/**
 * A key as the stores see it: apart from every key of every other namespace, whatever either holds.
 * A colon in the namespace is escaped, so that `a` + `b:c` and `a:b` + `c` stay two keys.
 */
export function namespacePrefix(namespace: string): string {
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
      ? formatValue(key)
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

/** The longest name that is kept as it is, in bytes: an index of a database takes about so much. */
const longest = 1_000

/** A name for a backend that takes no name of any length, nor a NUL in it: its hash where it must be. */
export function shortName(name: string): string {
  const plain = Buffer.byteLength(name) <= longest && !name.includes('\0') && !name.startsWith('sha256:')
  return plain ? name : `sha256:${createHash('sha256').update(name).digest('base64url')}`
}

/** Each prefix is a tag that is read with the value: so many of a key, the shortest. */
const mostPrefixes = 8

/**
 * What the stores call the keys and tags of one cache. The tags of users keep their names, behind the namespace; a prefix of
 * keys is a tag, too, behind `^=`, with which no other tag begins because a caret at its beginning is doubled.
 */
export class Keyspace {
  /** What all its keys and tags begin with. */
  readonly prefix: string
  readonly #separator: string | null

  /** @param separator ends each prefix of a key that may be invalidated; `null` if none may */
  constructor(namespace: string, separator: string | null) {
    this.prefix = namespacePrefix(namespace)
    this.#separator = separator
  }

  /** A key as the stores see it. */
  keyOf(key: string): string {
    return this.prefix + key
  }

  /** The tags of a value: those that were said of it, and one for each prefix of its key. */
  tagsOf(key: string, said: readonly string[]): readonly string[] {
    if (this.#separator === null) return said.length === 0 ? said : this.tagKeys(said)
    return [...this.tagKeys(said), ...prefixesOf(key, this.#separator).map((prefix) => this.#ofPrefix(prefix))]
  }

  /** The tags that a user says. */
  tagKeys(tags: readonly string[]): readonly string[] {
    return tags.map((tag) => this.prefix + (tag.startsWith('^') ? `^${tag}` : tag))
  }

  /** What a user calls a tag of the stores. */
  describeTag(tag: string): { readonly by: 'tag' | 'prefix'; readonly name: string } {
    const name = tag.slice(this.prefix.length)
    if (name.startsWith('^=')) return { by: 'prefix', name: name.slice(2) }
    return { by: 'tag', name: name.startsWith('^') ? name.slice(1) : name }
  }

  /** The tag of a prefix. Throws TypeError for what is none that could be invalidated. */
  prefixTag(prefix: string): string {
    if (this.#separator === null) {
      throw new TypeError(
        'Expected a cache with the option `prefixes`: without it, no value knows the prefixes of its key',
      )
    }
    const all = typeof prefix === 'string' ? prefixesOf(prefix, this.#separator) : []
    if (!all.includes(prefix)) {
      const most = `${mostPrefixes - 1} of ${JSON.stringify(this.#separator)}`
      throw new TypeError(
        `Expected a prefix that is empty or ends with one of the first ${most}, got ${formatValue(prefix)}`,
      )
    }
    return this.#ofPrefix(prefix)
  }

  #ofPrefix(prefix: string): string {
    return `${this.prefix}^=${prefix}`
  }
}

/** The empty one, and each that ends with a separator. */
function prefixesOf(key: string, separator: string): string[] {
  const prefixes = ['']
  for (let at = key.indexOf(separator); at !== -1 && prefixes.length < mostPrefixes;) {
    prefixes.push(key.slice(0, at + separator.length))
    at = key.indexOf(separator, at + separator.length)
  }
  return prefixes
}
