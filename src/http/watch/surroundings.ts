import { isCacheInfo } from '../message/cache-info.ts'
import { harmless, nameOf, type IsOwn } from './harmless.ts'

/** An object on which earlier middleware may have set properties for the handler. */
export interface Part {
  /** The name that handlers have for the object. */
  readonly name: string
  readonly object: object
  /** Whether the framework itself sets a property of this name. */
  readonly isOwn: IsOwn
}

/** Properties that are computed from a request and its connection, such as `req.ip` behind a trusted proxy. */
export interface Outcomes {
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
  readonly outcomes?: () => Outcomes | undefined
  /** Makes the framework read its values from the parts, which are watched from then on. */
  readonly lend?: () => void
  /** Whether the current read is a library saving its own state, which is part of no answer; called during the read. */
  readonly isSaving?: () => boolean
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
      const all = Object.keys(part.object)
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
    return !isOwn(name) && !harmless.has(name) && !this.#shared.has(name) && !this.#shared.has(`${part}.${name}`)
  }
}

/** The circumstances by which answers at one address differ, besides recorded reads. */
export interface Before {
  /** The protocol, if messages look different to handlers than with HTTP/1; `null` for HTTP/1. */
  readonly protocol: 'HTTP/2' | null
  /** The URL and the path that handlers see, if they differ from those of the address. */
  readonly url: string | null
  readonly path: string | null
  readonly user: string | null
  /** The directive by which earlier middleware has restricted the answer to its client; `null` for none. */
  readonly said: string | null
  readonly names: readonly string[]
  /** The number of caches before this one. */
  readonly depth: number
}

/**
 * Formats the circumstances of a request as a text; requests with equal texts may share an answer. `''` if there are
 * none.
 */
export function textOf({ protocol, url, path, user, said, names, depth }: Before): string {
  const isAddressed = protocol === null && url === null && path === null
  const isUsual = isAddressed && user === null && said === null && depth === 0
  if (isUsual) return names.join('\n')
  return JSON.stringify([protocol, url, path, user, said, names, depth])
}

/** Whether no circumstance of a request may tell its client from others. */
export function isBare({ user, said, names, depth }: Before): boolean {
  return user === null && said === null && names.length === 0 && depth === 0
}

/** Whether an input is a primitive value. Of an object the key may have been made of one property only. */
export function isPlain({ parts, outcomes }: Surroundings, name: string): boolean {
  const known = outcomes?.()
  const isOutcome =
    known !== undefined && [...known.properties.keys()].some((each) => name === `:${known.name}.${each}`)
  return (
    isOutcome ||
    parts.some(({ name: part, object }) => {
      if (!name.startsWith(`:${part}.`)) return false
      const value: unknown = Reflect.get(object, name.slice(part.length + 2))
      return typeof value !== 'object' && typeof value !== 'function'
    })
  )
}

function isSame(one: readonly PropertyKey[], other: readonly PropertyKey[]): boolean {
  if (one.length !== other.length) return false
  for (let index = 0; index < one.length; index++) if (one[index] !== other[index]) return false
  return true
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
  const prototype: unknown = Object.getPrototypeOf(value)
  return (prototype !== null && prototype !== Object.prototype) || Reflect.ownKeys(value).length > 0
}
