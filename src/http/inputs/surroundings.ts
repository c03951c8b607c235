import { isProxy } from 'node:util/types'
import type { IsOwn } from './harmless.ts'

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
  /** Values that earlier middleware has changed, by which answers differ and whose reads are not recorded. */
  readonly changed?: () => readonly string[]
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

/** Whether an input is a primitive value. Of an object the key may have been made of one property only. */
export function isPlain({ parts, computed }: Surroundings, name: string): boolean {
  const propertyOf = (part: string): string => (name.startsWith(`:${part}.`) ? name.slice(part.length + 2) : '')
  const known = computed?.()
  if (known?.properties.has(propertyOf(known.name)) === true) return true
  return parts.some(({ name: part, object }) => {
    const property = propertyOf(part)
    if (property === '') return false
    const value: unknown = Reflect.get(object, property)
    return typeof value !== 'object' && typeof value !== 'function'
  })
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
