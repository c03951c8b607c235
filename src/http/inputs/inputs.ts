import type { IncomingMessage } from 'node:http'
import { isPseudoField } from '../message/http2.ts'
import type { Fields } from '../policy/fields.ts'
import { selectedBy } from '../policy/vary.ts'
import type { StoredHead } from '../stored/stored-response.ts'
import { allFields } from './watched-fields.ts'
import { isBare, isUsual, textOf, type GivenInputs } from './given.ts'
import type { Computed, Surroundings } from './surroundings.ts'

/** The name of all that a request is given, as one input. Names of request fields have no colon. */
export const givenName = ':given'

/** The name of the remote address of a connection, as an input. */
const addressName = ':socket.remoteAddress'

/** The inputs of a request that may select an answer: its fields, what it is given, and its remote address. */
export class Inputs {
  /** What the request is given, as `textOf` formats it. */
  readonly given: string
  readonly #request: IncomingMessage
  readonly #surroundings: Surroundings
  readonly #given: GivenInputs
  #fields: Fields
  #computed: Computed | null | undefined

  constructor(request: IncomingMessage, surroundings: Surroundings, given: GivenInputs) {
    this.given = textOf(given)
    this.#given = given
    this.#request = request
    this.#surroundings = surroundings
    this.#fields = request.headers
  }

  /** Whether the request is given nothing besides its route. */
  get isUsual(): boolean {
    return isUsual(this.#given)
  }

  /** The request fields as they were sent. */
  get fields(): Fields {
    return this.#fields
  }

  /** Copies the fields, because the original object is about to be watched. */
  detach(): void {
    this.#fields = { ...this.#fields }
  }

  /** The values of these inputs, as a text. */
  by(names: readonly string[]): string {
    const others = names.filter((name) => name.startsWith(':') && !isPseudoField(name))
    if (others.length === 0) return selectedBy(names, this.#fields)
    const fields = Object.fromEntries(others.map((name) => [name, this.#other(name)]))
    return selectedBy(names, { ...this.#fields, ...fields })
  }

  /** Whether a stored response, or this variant, may answer the request (RFC 9111 section 4.1). */
  mayHave({ given, vary, selected }: StoredHead): boolean {
    return given === this.given && (vary.length === 0 || this.by(vary) === selected)
  }

  /**
   * Whether another request equals this one in every input that a handler may read: it is given nothing that tells
   * clients apart, and remote address and fields are equal.
   * @param counts whether a field of this name is compared
   */
  isAlike(other: Inputs, counts: (name: string) => boolean): boolean {
    if (this.given !== other.given || !isBare(this.#given)) return false
    const names = new Set([...Object.keys(this.#fields), ...Object.keys(other.#fields)])
    const all = [...names].filter(counts)
    return (
      this.by([addressName]) === other.by([addressName]) &&
      all.every((name) => isSame(this.#fields, other.#fields, name))
    )
  }

  /** Whether an input can be part of a key. */
  isKeyable(name: string): boolean {
    if (!name.startsWith(':') || isPseudoField(name)) return name !== allFields
    return name === givenName || name === addressName || this.#computedOf(name) !== null
  }

  /** The value of an input that is not a field. JSON quotes keep `selectedBy` from normalizing it. */
  #other(name: string): string | undefined {
    if (name === givenName) return JSON.stringify(this.given)
    if (name === addressName) return JSON.stringify(this.#request.socket?.remoteAddress)
    const found = this.#computedOf(name)
    return found === null ? undefined : JSON.stringify(Reflect.get(found.object, found.property))
  }

  #computedOf(name: string): { object: object; property: string } | null {
    if (this.#computed === undefined) this.#computed = this.#surroundings.computed?.() ?? null
    if (this.#computed === null) return null
    const { name: part, object, properties } = this.#computed
    const property = name.startsWith(`:${part}.`) ? name.slice(part.length + 2) : ''
    return properties.has(property) ? { object, property } : null
  }
}

function isSame(one: Fields, other: Fields, name: string): boolean {
  return JSON.stringify(one[name]) === JSON.stringify(other[name])
}
