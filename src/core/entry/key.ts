import { formatValue } from '../time/duration.ts'
import { createHash } from 'node:crypto'

/**
 * The prefix of all keys of a namespace in the store; no two namespaces share a key. A colon in the namespace is
 * escaped, so that `a` + `b:c` and `a:b` + `c` stay two keys.
 */
export function namespacePrefix(namespace: string): string {
  return `${namespace.replaceAll('%', '%25').replaceAll(':', '%3A')}:`
}

/** The longest key, in characters. Redis accepts longer ones, but every command carries the key. */
export const longestKey = 65_536

/**
 * Asserts that `key` is a well-formed string of 1 to 65 536 characters. Lone surrogates are refused because UTF-8 has
 * no bytes for them: two such keys would become one in Redis.
 * @throws TypeError for anything else
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

/** As `checkKey`, for an array of keys. */
export function checkKeys(keys: unknown): asserts keys is readonly string[] {
  if (!Array.isArray(keys)) throw new TypeError(`Expected an array of keys, got ${formatValue(keys)}`)
  for (const key of keys as readonly unknown[]) checkKey(key)
}

/**
 * The key itself.
 * @throws TypeError as `checkKey`
 */
export function checkedKey(key: unknown): string {
  checkKey(key)
  return key
}

/** The longest plain name, in bytes: about the limit of a database index. */
const longest = 1_000

/** A name for a backend that limits the length of names and refuses NUL: its hash if it is too long or contains one. */
export function shortName(name: string): string {
  const plain = Buffer.byteLength(name) <= longest && !name.includes('\0') && !name.startsWith('sha256:')
  return plain ? name : `sha256:${createHash('sha256').update(name).digest('base64url')}`
}

/** The most prefixes of a key; the shortest ones count. Each is a tag that every hit reads along with the value. */
const mostPrefixes = 8

/**
 * The names of one cache's keys and tags in the store.
 *
 * A key keeps its name behind the namespace; with a version it becomes `^<version>=<key>`. A tag of the user keeps its
 * name, too. A key prefix becomes a tag that begins with `^=`, and the values of all versions of a key have a tag that
 * begins with `^@`. A leading caret of the user is doubled, so that no two names are the same.
 */
export class Keyspace {
  /** The common prefix of all keys and tags. */
  readonly prefix: string
  readonly #separator: string | null

  /** @param separator ends each part of a key whose prefixes can be invalidated; `null` for a cache without prefixes */
  constructor(namespace: string, separator: string | null) {
    this.prefix = namespacePrefix(namespace)
    this.#separator = separator
  }

  /** Whether the prefixes of keys are tags of their values. */
  get hasPrefixes(): boolean {
    return this.#separator !== null
  }

  /** The name in the store of a key's value of a version. */
  keyOf(key: string, version: string | null): string {
    return this.prefix + (version === null ? escaped(key) : `^${version}=${key}`)
  }

  /** The key that has a name in the store; `null` if that is of another namespace. */
  keyIn(name: string): string | null {
    return name.startsWith(this.prefix) ? keyNamed(name.slice(this.prefix.length)).key : null
  }

  /**
   * The tags of a value in the store: the given tags, one for each prefix of the key, and for a value with a version
   * the one by which invalidations of the key reach all versions.
   */
  tagsOf(key: string, said: readonly string[], version: string | null): readonly string[] {
    if (this.#separator === null && version === null) return said.length === 0 ? said : this.tagKeys(said)
    const prefixes = this.#separator === null ? [] : prefixesOf(key, this.#separator)
    return [
      ...this.tagKeys(said),
      ...prefixes.map((prefix) => this.#ofPrefix(prefix)),
      ...(version === null ? [] : [this.versionsTag(key)]),
    ]
  }

  /** The names of the user's tags in the store. */
  tagKeys(tags: readonly string[]): readonly string[] {
    return tags.map((tag) => this.prefix + escaped(tag))
  }

  /** The tag that the values of all versions of a key have. */
  versionsTag(key: string): string {
    return `${this.prefix}^@${shortName(key)}`
  }

  /** The tags of the user among those of a value, without those that this library has added: of prefixes, of versions. */
  ownTags(tags: readonly string[]): string[] {
    return tags.map((tag) => this.describeTag(tag)).flatMap(({ by, name }) => (by === 'tag' ? [name] : []))
  }

  /** The user's name for a tag of the store. */
  describeTag(tag: string): { readonly by: 'tag' | 'prefix' | 'key'; readonly name: string } {
    const name = tag.slice(this.prefix.length)
    if (name.startsWith('^=')) return { by: 'prefix', name: name.slice(2) }
    if (name.startsWith('^@')) return { by: 'key', name: name.slice(2) }
    return { by: 'tag', name: name.startsWith('^') ? name.slice(1) : name }
  }

  /**
   * The tag of a prefix.
   * @throws TypeError if the cache has no prefixes, or if this is not a prefix that values are tagged with
   */
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

function escaped(name: string): string {
  return name.startsWith('^') ? `^${name}` : name
}

/** The key and the version that have this name behind their namespace. */
export function keyNamed(name: string): { readonly key: string; readonly version: string | null } {
  if (!name.startsWith('^')) return { key: name, version: null }
  const end = name.indexOf('=')
  if (name.startsWith('^^') || end === -1) return { key: name.slice(1), version: null }
  return { key: name.slice(end + 1), version: name.slice(1, end) }
}

/** The empty prefix, and every prefix that ends with a separator. */
function prefixesOf(key: string, separator: string): string[] {
  const prefixes = ['']
  for (let at = key.indexOf(separator); at !== -1 && prefixes.length < mostPrefixes;) {
    prefixes.push(key.slice(0, at + separator.length))
    at = key.indexOf(separator, at + separator.length)
  }
  return prefixes
}
