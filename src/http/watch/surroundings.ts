import { isCacheInfo } from '../message/cache-info.ts'
import { isProxy } from 'node:util/types'
import { nameOf, type IsOwn } from './harmless.ts'

/** An object on which earlier middleware may have set properties for the handler. */
export interface Part {
  /** The name that handlers have for the object. */
  readonly name: string
  readonly object: object
  /** Whether a framework or a well-known middleware sets a property of this name. */
  readonly isOwn: IsOwn
  /**
   * `variables`: an object for the variables of the application, plain unless earlier middleware has replaced it;
   * `request`: the object on which most middleware sets its properties. Of these two the symbols are compared on a hit,
   * too: to list those of every part would take longer than they are worth.
   */
  readonly kind?: 'variables' | 'request'
}

/** Properties that are computed from a request and its connection, such as `req.ip` behind a trusted proxy. */
export interface Computed {
  /** The name that handlers have for the object with these properties. */
  readonly name: string
  readonly object: object
  /** The properties. `true`: the property may differ between clients that send the same fields. */
  readonly properties: ReadonlyMap<string, boolean>
}

/** The inputs of a request besides its fields, as earlier middleware and the framework have left them. */
export interface Surroundings {
  /** Objects on which properties may be set for some clients only; compared on every hit. */
  readonly parts: readonly Part[]
  /** Objects that are watched during a fill, but not compared on a hit. */
  readonly others?: () => readonly Part[]
  readonly computed?: () => Computed | undefined
  /** The route with the handler, for frameworks in which earlier middleware may choose one of several. */
  readonly route?: () => string | null
  /** Values by which answers differ and whose reads are not recorded; compared on every hit. */
  readonly given?: () => readonly string[]
  /**
   * Makes the framework read its values from the parts, which are watched from then on, and records reads of values that
   * are in no part.
   * @param onRead called with the name of an input, with a leading colon
   */
  readonly lend?: (onRead: (name: string) => void) => void
  /** The name that handlers have for the response of node:http, if earlier middleware sets its header lines there. */
  readonly responseName?: string
  /** Whether the current read is a library saving its own state, which is part of no answer; called during the read. */
  readonly isSaving?: () => boolean
  /** Objects besides the request of node:http that keep its URL (`url`, `originalUrl`) or the parsed `query`. */
  readonly targets?: readonly object[]
  /** The argument of the option `user`. */
  readonly asker: object
  /** The path by which the framework selected the handler, if it is not the path of the address. */
  readonly path?: string | undefined
}

/** The property names of an object, and those among them that belong to no framework. */
interface Names {
  readonly all: readonly PropertyKey[]
  readonly foreign: readonly PropertyKey[]
}

const none: readonly string[] = []

/** Finds the properties that earlier middleware has set on the parts of a request. */
export class Standing {
  readonly #shared: ReadonlySet<string>
  /** By name of the part, the names at the last hit; `#lastOfAll` has those at the last fill. */
  readonly #last = new Map<string, Names>()
  readonly #lastOfAll = new Map<string, Names>()

  /**
   * @param shared names of further properties that tell no clients apart, with or without the name of their part
   */
  constructor(shared: readonly string[]) {
    this.#shared = new Set(shared)
  }

  /**
   * The names of the non-empty foreign properties on the parts, sorted. Only the enumerable ones: to list the others
   * takes longer than the rest of a hit. `watchable` has them all.
   */
  names(parts: readonly Part[]): readonly string[] {
    let names = none
    for (const part of parts) {
      const all = part.kind === undefined ? Object.keys(part.object) : enumerableKeys(part.object)
      if (all.length === 0) continue
      for (const key of this.#foreignAmong(part, all, this.#last)) {
        if (isSomething(part.object, key)) names = [...names, `${part.name}.${nameOf(key)}`]
      }
    }
    return names.length > 1 ? names.toSorted() : names
  }

  /** The non-empty properties of a part that belong to no framework and may differ between clients. */
  watchable(part: Part): PropertyKey[] {
    const foreign = this.#foreignAmong(part, Reflect.ownKeys(part.object), this.#lastOfAll)
    return foreign.filter((key) => isSomething(part.object, key))
  }

  /** The result for the last object is kept, because most requests have the same names. */
  #foreignAmong(part: Part, all: readonly PropertyKey[], known: Map<string, Names>): readonly PropertyKey[] {
    const last = known.get(part.name)
    if (last !== undefined && isSame(last.all, all)) return last.foreign
    const foreign = all.filter((key) => this.#isForeign(part, key))
    known.set(part.name, { all, foreign })
    return foreign
  }

  #isForeign({ name: part, isOwn }: Part, key: PropertyKey): boolean {
    const name = nameOf(key)
    return !isOwn(key) && !this.#shared.has(name) && !this.#shared.has(`${part}.${name}`)
  }
}

/** The texts among some values, for `Surroundings.given`; usually none. */
export function textsAmong(...values: readonly (string | null)[]): readonly string[] {
  for (const value of values) if (value !== null) return values.filter((each) => each !== null)
  return none
}

/** The circumstances by which answers at one address differ, besides recorded reads. */
export interface Before {
  /** The protocol, if messages look different to handlers than with HTTP/1; `null` for HTTP/1. */
  readonly protocol: 'HTTP/2' | null
  /** The URL and the path that handlers see, if they differ from those of the address. */
  readonly url: string | null
  readonly path: string | null
  /** The route with the handler; `null` outside of one. */
  readonly route: string | null
  /** The `Content-Type` that earlier middleware has set, which every framework reads itself. */
  readonly type: string | null
  readonly user: string | null
  /** The directive by which earlier middleware has restricted the answer to its client; `null` for none. */
  readonly said: string | null
  readonly names: readonly string[]
  /** The values of `Surroundings.given`. */
  readonly given: readonly string[]
  /** The number of caches before this one. */
  readonly depth: number
}

/**
 * Formats the circumstances of a request as a text; requests with equal texts may share an answer. `''` if there are
 * none.
 */
export function textOf(before: Before): string {
  const { protocol, url, path, route, type, user, said, names, given, depth } = before
  if (isNamed(before)) return names.length === 0 ? (route ?? '') : `${route ?? ''}\n${names.join('\n')}`
  return JSON.stringify([protocol, url, path, route, type, user, said, names, depth, ...given])
}

/** Whether a request has no circumstances besides its route. */
export function isUsual(before: Before): boolean {
  return before.names.length === 0 && isNamed(before)
}

/** Whether a request has no circumstances besides its route and its names. */
function isNamed({ protocol, url, path, type, user, said, given, depth }: Before): boolean {
  const isAddressed = protocol === null && url === null && path === null && type === null && given.length === 0
  return isAddressed && user === null && said === null && depth === 0
}

/** Whether no circumstance of a request may tell its client from others. */
export function isBare({ user, said, names, depth }: Before): boolean {
  return user === null && said === null && names.length === 0 && depth === 0
}

/** Whether an input is a primitive value. Of an object the key may have been made of one property only. */
export function isPlain({ parts, computed }: Surroundings, name: string): boolean {
  const known = computed?.()
  const isComputed =
    known !== undefined && [...known.properties.keys()].some((each) => name === `:${known.name}.${each}`)
  return (
    isComputed ||
    parts.some(({ name: part, object }) => {
      if (!name.startsWith(`:${part}.`)) return false
      const value: unknown = Reflect.get(object, name.slice(part.length + 2))
      return typeof value !== 'object' && typeof value !== 'function'
    })
  )
}

function enumerableKeys(object: object): readonly PropertyKey[] {
  const names = Object.keys(object)
  const symbols = Object.getOwnPropertySymbols(object)
  return symbols.length === 0 ? names : [...names, ...symbols]
}

function isSame(one: readonly PropertyKey[], other: readonly PropertyKey[]): boolean {
  if (one.length !== other.length) return false
  for (let index = 0; index < one.length; index++) if (one[index] !== other[index]) return false
  return true
}

/**
 * Whether an object inherits nothing but the members of `Object.prototype`, also that of another realm, and is no proxy.
 */
export function isPlainObject(object: object): boolean {
  // A proxy may make its properties when they are read.
  if (isProxy(object)) return false
  const prototype: unknown = Object.getPrototypeOf(object)
  if (prototype === null || prototype === Object.prototype) return true
  if (Object.getPrototypeOf(prototype) !== null) return false
  // Parsers of queries and cookies create objects with an empty prototype.
  return Object.hasOwn(prototype as object, 'isPrototypeOf') || Reflect.ownKeys(prototype as object).length === 0
}

/** Whether a property has a value. An empty object counts as none: `req.cookies` without a cookie. */
function isSomething(object: object, key: PropertyKey): boolean {
  const property = Object.getOwnPropertyDescriptor(object, key)
  if (property === undefined) return false
  if (property.get !== undefined) return true
  const value: unknown = property.value
  if (typeof value !== 'object') return value !== undefined
  if (value === null || isCacheInfo(value)) return false
  if (Array.isArray(value)) return value.length > 0
  return !isPlainObject(value) || Reflect.ownKeys(value).length > 0
}
