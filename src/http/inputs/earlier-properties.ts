import { isCacheInfo } from '../message/cache-info.ts'
import { nameOf } from './harmless.ts'
import { isPlainObject, type Part } from './surroundings.ts'

/** The property names and symbols of an object, and those among them that belong to no framework. */
interface Names {
  readonly texts: readonly string[]
  readonly symbols: readonly symbol[]
  readonly foreign: readonly PropertyKey[]
}

const none: readonly never[] = []

/** Finds the properties that earlier middleware has set on the parts of a request. */
export class EarlierProperties {
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
    let names: readonly string[] = none
    for (const part of parts) {
      const texts = Object.keys(part.object)
      const symbols = part.kind === undefined ? none : Object.getOwnPropertySymbols(part.object)
      if (texts.length + symbols.length === 0) continue
      for (const key of this.#foreignAmong(part, texts, symbols, this.#last)) {
        if (isSomething(part.object, key)) names = [...names, `${part.name}.${nameOf(key)}`]
      }
    }
    return names.length > 1 ? names.toSorted() : names
  }

  /** The non-empty properties of a part that belong to no framework and may differ between clients. */
  watchable(part: Part): PropertyKey[] {
    const [texts, symbols] = [Object.getOwnPropertyNames(part.object), Object.getOwnPropertySymbols(part.object)]
    const foreign = this.#foreignAmong(part, texts, symbols, this.#lastOfAll)
    return foreign.filter((key) => isSomething(part.object, key))
  }

  /** The result for the last object is kept, because most requests have the same names. */
  #foreignAmong(
    part: Part,
    texts: readonly string[],
    symbols: readonly symbol[],
    known: Map<string, Names>,
  ): readonly PropertyKey[] {
    const last = known.get(part.name)
    if (last !== undefined && isSame(last.texts, texts) && isSame(last.symbols, symbols)) return last.foreign
    const foreign = [...texts, ...symbols].filter((key) => this.#isForeign(part, key))
    known.set(part.name, { texts, symbols, foreign })
    return foreign
  }

  #isForeign({ name: part, isOwn }: Part, key: PropertyKey): boolean {
    const name = nameOf(key)
    return !isOwn(key) && !this.#shared.has(name) && !this.#shared.has(`${part}.${name}`)
  }
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
  return !isPlainObject(value) || Reflect.ownKeys(value).length > 0
}
