import { shown } from './duration.ts'

/** Each prefix is a tag that is read with the value: so many of a key, the shortest. */
const mostPrefixes = 8

/**
 * What the stores call the tags of one cache. Those of users keep their names, behind the namespace; a prefix of keys is a
 * tag, too, behind `^=`, which no other begins with because a caret that does is doubled.
 */
export class TagNames {
  readonly #namespace: string
  readonly #separator: string | null

  /**
   * @param namespace as keys begin with it
   * @param separator ends each prefix of a key that may be invalidated; `null` if none may
   */
  constructor(namespace: string, separator: string | null) {
    this.#namespace = namespace
    this.#separator = separator
  }

  /** Of a value: those that were said of it, and one for each prefix of its key. */
  of(key: string, said: readonly string[]): readonly string[] {
    if (this.#separator === null) return said.length === 0 ? said : this.said(said)
    return [...this.said(said), ...prefixesOf(key, this.#separator).map((prefix) => this.#ofPrefix(prefix))]
  }

  /** Those that a user says. */
  said(tags: readonly string[]): readonly string[] {
    return tags.map((tag) => this.#namespace + (tag.startsWith('^') ? `^${tag}` : tag))
  }

  /** What a user calls the one that the stores call so. */
  told(tag: string): { readonly by: 'tag' | 'prefix'; readonly name: string } {
    const name = tag.slice(this.#namespace.length)
    if (name.startsWith('^=')) return { by: 'prefix', name: name.slice(2) }
    return { by: 'tag', name: name.startsWith('^') ? name.slice(1) : name }
  }

  /** That of a prefix. Throws TypeError for what is none that could be invalidated. */
  prefix(prefix: string): string {
    if (this.#separator === null) {
      throw new TypeError(
        'Expected a cache with the option `prefixes`: without it, no value knows the prefixes of its key',
      )
    }
    const all = typeof prefix === 'string' ? prefixesOf(prefix, this.#separator) : []
    if (!all.includes(prefix)) {
      const most = `${mostPrefixes - 1} of ${JSON.stringify(this.#separator)}`
      throw new TypeError(`Expected a prefix that is empty or ends with one of the first ${most}, got ${shown(prefix)}`)
    }
    return this.#ofPrefix(prefix)
  }

  #ofPrefix(prefix: string): string {
    return `${this.#namespace}^=${prefix}`
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
