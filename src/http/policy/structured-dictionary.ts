/** A member of a dictionary, as far as cache directives distinguish types: all other types are `other`. */
export type Item =
  | { readonly type: 'integer'; readonly value: number }
  | { readonly type: 'boolean'; readonly value: boolean }
  | { readonly type: 'string' | 'token' | 'other'; readonly value: string }

/**
 * Parses a Structured Fields dictionary strictly (RFC 9651 section 4.2.2). The last member of a name counts. Parameters
 * are parsed and dropped. A decimal, a byte sequence, a date, a display string and an inner list are `other`, with
 * their spelling as value.
 * @returns `null` for a malformed dictionary
 */
export function dictionaryOf(text: string): ReadonlyMap<string, Item> | null {
  const reader = new Reader(text)
  try {
    return reader.dictionary()
  } catch (error) {
    if (error === malformed) return null
    throw error
  }
}

const malformed = new Error('Not a dictionary')

class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  dictionary(): Map<string, Item> {
    const members = new Map<string, Item>()
    this.#match(/ */y)
    while (this.#at < this.#text.length) {
      const key = this.#need(/[a-z*][a-z\d_.*-]*/y)
      const item: Item = this.#match(/=/y) === null ? { type: 'boolean', value: true } : this.#member()
      this.#parameters()
      // RFC 9651 section 4.2.2: the last member of a name replaces the earlier one, and takes its own place in the
      // order.
      members.delete(key)
      members.set(key, item)
      this.#match(/[ \t]*/y)
      if (this.#at === this.#text.length) break
      this.#need(/,[ \t]*/y)
      if (this.#at === this.#text.length) throw malformed
    }
    return members
  }

  #member(): Item {
    const start = this.#at
    if (this.#match(/\(/y) === null) return this.#item()
    for (;;) {
      this.#match(/ */y)
      if (this.#match(/\)/y) !== null) return { type: 'other', value: this.#text.slice(start, this.#at) }
      this.#item()
      this.#parameters()
      if (this.#text[this.#at] !== ' ' && this.#text[this.#at] !== ')') throw malformed
    }
  }

  #item(): Item {
    const first = this.#text[this.#at] ?? ''
    if (first === '?') return { type: 'boolean', value: this.#need(/\?[01]/y) === '?1' }
    if (first === '"') {
      const quoted = this.#need(/"(?:[ !#-[\]-~]|\\["\\])*"/y)
      return { type: 'string', value: quoted.slice(1, -1).replaceAll(/\\(.)/g, '$1') }
    }
    if (first === ':') return { type: 'other', value: this.#need(/:[A-Za-z\d+/]*={0,2}:/y) }
    if (first === '@') return { type: 'other', value: this.#need(/@-?\d{1,15}(?![\d.])/y) }
    if (first === '%') return { type: 'other', value: this.#need(/%"(?:[ !#$&-~]|%[\da-f]{2})*"/y) }
    if (/[-\d]/.test(first)) return this.#number()
    return { type: 'token', value: this.#need(/[A-Za-z*][!#$%&'*+.^_`|~\w:/-]*/y) }
  }

  #number(): Item {
    const decimal = this.#match(/-?\d{1,12}\.\d{1,3}(?![\d.])/y)
    if (decimal !== null) return { type: 'other', value: decimal }
    return { type: 'integer', value: Number(this.#need(/-?\d{1,15}(?![\d.])/y)) }
  }

  #parameters(): void {
    while (this.#match(/; */y) !== null) {
      this.#need(/[a-z*][a-z\d_.*-]*/y)
      if (this.#match(/=/y) !== null) this.#item()
    }
  }

  /**
   * Consumes a match of a sticky pattern at the current position.
   * @throws `malformed` if there is no match
   */
  #need(pattern: RegExp): string {
    const found = this.#match(pattern)
    if (found === null) throw malformed
    return found
  }

  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0]
    if (found === undefined) return null
    this.#at += found.length
    return found
  }
}
