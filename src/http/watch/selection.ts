import type { IncomingMessage } from 'node:http'
import { isPseudoField } from '../message/http2.ts'
import type { Fields } from '../policy/fields.ts'
import { selectedBy } from '../policy/vary.ts'
import type { StoredHead } from '../stored/stored-response.ts'
import { isBare, type Outcomes, type Surroundings } from './surroundings.ts'

/** The name of what stood before the cache, beside those of request fields, which have no colon. */
export const beforeName = ':before'

/** The name of the address that a connection comes from. */
const addressName = ':socket.remoteAddress'

/** All of a request that may select an answer: its fields, what stood before the cache, and where it comes from. */
export class Selection {
  /** What stood before the cache, as `textOf` says it. */
  readonly before: string
  readonly #request: IncomingMessage
  readonly #surroundings: Surroundings
  #fields: Fields
  #outcomes: Outcomes | null | undefined

  constructor(request: IncomingMessage, surroundings: Surroundings, before: string) {
    this.before = before
    this.#request = request
    this.#surroundings = surroundings
    this.#fields = request.headers
  }

  /** The request fields as they were sent. */
  get fields(): Fields {
    return this.#fields
  }

  /** The object that has them will be watched: from now on they are read from another. */
  detach(): void {
    this.#fields = { ...this.#fields }
  }

  /** What the request says in what goes by these names, as a text. */
  by(names: readonly string[]): string {
    const others = names.filter((name) => name.startsWith(':') && !isPseudoField(name))
    if (others.length === 0) return selectedBy(names, this.#fields)
    const fields = Object.fromEntries(others.map((name) => [name, this.#other(name)]))
    return selectedBy(names, { ...this.#fields, ...fields })
  }

  /** RFC 9111 section 4.1: whether it may be answered with this response, or with this variant of it. */
  mayHave({ before, vary, selected }: StoredHead): boolean {
    return before === this.before && (vary.length === 0 || this.by(vary) === selected)
  }

  /**
   * Whether another request is the same in whatever a handler may read of it: nothing stood before the cache, it comes from the
   * same address, and says the same in all fields.
   * @param counts whether a field does
   */
  isAlike(other: Selection, counts: (name: string) => boolean): boolean {
    if (this.before !== other.before || !isBare(this.before)) return false
    const names = new Set([...Object.keys(this.#fields), ...Object.keys(other.#fields)])
    const all = [...names].filter(counts)
    return (
      this.by([addressName]) === other.by([addressName]) &&
      all.every((name) => isSame(this.#fields, other.#fields, name))
    )
  }

  /** Whether something that was read can be part of a key. */
  isKeyable(name: string): boolean {
    if (!name.startsWith(':') || isPseudoField(name)) return true
    return name === beforeName || name === addressName || this.#outcomeOf(name) !== null
  }

  /** In quotes, so that it is compared as it is. */
  #other(name: string): string | undefined {
    if (name === beforeName) return JSON.stringify(this.before)
    if (name === addressName) return JSON.stringify(this.#request.socket?.remoteAddress)
    const outcome = this.#outcomeOf(name)
    return outcome === null ? undefined : JSON.stringify(Reflect.get(outcome.object, outcome.property))
  }

  #outcomeOf(name: string): { object: object; property: string } | null {
    if (this.#outcomes === undefined) this.#outcomes = this.#surroundings.outcomes?.() ?? null
    if (this.#outcomes === null) return null
    const { name: part, object, properties } = this.#outcomes
    const property = name.startsWith(`:${part}.`) ? name.slice(part.length + 2) : ''
    return properties.has(property) ? { object, property } : null
  }
}

function isSame(one: Fields, other: Fields, name: string): boolean {
  return JSON.stringify(one[name]) === JSON.stringify(other[name])
}
