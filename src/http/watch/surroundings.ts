import { isCacheInfo } from '../message/cache-info.ts'
import { harmless, nameOf, type IsOwn } from './harmless.ts'

/** An object on which an earlier middleware may have put something for the handler. */
export interface Part {
  /** By which a handler knows it. */
  readonly name: string
  readonly object: object
  /** Whether the framework itself puts a property of this name there. */
  readonly isOwn: IsOwn
  /** Whether it has as many as a message of node:http. */
  readonly isLarge?: boolean
}

/** What is worked out of a request by whom its connection comes from, as `req.ip` behind a proxy that is trusted. */
export interface Outcomes {
  /** By which a handler knows the object that has them. */
  readonly name: string
  readonly object: object
  /** Its properties, and whether each differs between clients that send the same fields. */
  readonly properties: ReadonlyMap<string, boolean>
}

/** What there is about a request besides its fields: what has stood there before the cache. */
export interface Surroundings {
  /** On which something may stand for some clients only: compared at a hit. */
  readonly parts: readonly Part[]
  /** On which something is watched, and not looked for at a hit. */
  readonly others?: () => readonly Part[]
  readonly outcomes?: () => Outcomes | undefined
  /** Has the framework take what it shows from the parts: they are watched from now on. */
  readonly lend?: () => void
  /** Whether a library reads what it has put there itself, for no answer: asked while something is read. */
  readonly isSaving?: () => boolean
  /** What the option `user` is a function of. */
  readonly asker: object
  /** The path that selects the handler, where that is not the one of the address. */
  readonly path?: string | undefined
}

/** The names that an object had, and those among them that are of no framework. */
interface Names {
  readonly all: readonly PropertyKey[]
  readonly foreign: readonly PropertyKey[]
}

const none: readonly string[] = []

/** Looks for what earlier middleware has put on the parts of a request. */
export class Standing {
  readonly #shared: ReadonlySet<string>
  /** Of each part, as it was looked at for a hit, and for a fill. */
  readonly #last = new Map<string, Names>()
  readonly #lastOfAll = new Map<string, Names>()

  /** @param shared names of more that is the same for all, with or without that of their part */
  constructor(shared: readonly string[]) {
    this.#shared = new Set(shared)
  }

  /** The names of what stands there and is something, sorted. */
  names(parts: readonly Part[]): readonly string[] {
    let names = none
    for (const part of parts) {
      // Of the many that node:http has, those that cannot be enumerated would take long.
      const all = part.isLarge === true ? Object.keys(part.object) : Reflect.ownKeys(part.object)
      if (all.length === 0) continue
      for (const key of this.#foreignAmong(part, all, this.#last)) {
        if (isSomething(part.object, key)) names = [...names, `${part.name}.${nameOf(key)}`]
      }
    }
    return names.length > 1 ? names.toSorted() : names
  }

  /** All of a part that is of no framework, is something, and may be of one client. */
  watchable(part: Part): PropertyKey[] {
    const foreign = this.#foreignAmong(part, Reflect.ownKeys(part.object), this.#lastOfAll)
    return foreign.filter((key) => isSomething(part.object, key))
  }

  /** Those of the last object are known: most requests have the same names. */
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

/** What makes the answers at one address differ, besides what is read of the request. */
export interface Before {
  /** In which messages look otherwise to handlers than in HTTP/1; `null` for that. */
  readonly protocol: 'HTTP/2' | null
  /** The URL and the path that handlers go by, where they are not those of the address. */
  readonly url: string | null
  readonly path: string | null
  readonly user: string | null
  /** That the answer is for its client alone, in the words of earlier middleware. */
  readonly said: string | null
  readonly names: readonly string[]
  /** The number of caches that stand before this one. */
  readonly depth: number
}

/** What stood before the cache, as a text that is the same where others may be given the answer; `''` for nothing. */
export function textOf({ protocol, url, path, user, said, names, depth }: Before): string {
  const isAddressed = protocol === null && url === null && path === null
  const isUsual = isAddressed && user === null && said === null && depth === 0
  if (isUsual) return names.join('\n')
  return JSON.stringify([protocol, url, path, user, said, names, depth])
}

/** Whether nothing has stood there that could be of one client, by its text. */
export function isBare(text: string): boolean {
  if (text === '') return true
  // A list of names is no array.
  if (!text.startsWith('[')) return false
  const [, , , user, said, names, depth] = JSON.parse(text) as readonly unknown[]
  return user === null && said === null && (names as readonly string[]).length === 0 && depth === 0
}

/** Whether something that stands there is no object, of which a key may be made of a part alone. */
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

/** An empty object says as little as none: `req.cookies` where there is no cookie. */
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
