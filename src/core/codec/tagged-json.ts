import { types } from 'node:util'
import { builtInAt, bytesOf, fromBytes, describeKind, refusal, tooDeep, type Trail } from './built-in.ts'

// A value that JSON cannot express becomes a string of a tilde and a letter. A user's string that begins with a tilde
// gets a second tilde. A Map, a Set and an object without a prototype become arrays that begin with their tag:
//
//   ~u undefined   ~n NaN   ~p Infinity   ~m -Infinity   ~z -0   ~i1f a bigint in hex   ~j1f a negative one
//   ~d1700000000000 Date   ~bInt8Array:AAAA bytes in base64   ["~M",k,v,...] Map   ["~S",...] Set   ["~O",{...}]
//
// The bytes of typed arrays keep the machine's byte order: no fleet mixes little-endian and big-endian machines.
const tilde = 0x7e
const deepest = 1_000

// Taken once: a value to be stored may bring methods of its own.
const getTime = Reflect.get(Date.prototype, 'getTime') as (this: Date) => number

const lookupGetter = Reflect.get(Object.prototype, '__lookupGetter__') as (this: object, key: PropertyKey) => unknown

interface Walk extends Trail {
  plain: boolean
}

/** A value in a form that JSON can hold: the value itself if it is plain JSON, else a copy with tags. */
export type Tagged = { readonly plain: boolean; readonly tree: unknown }

/**
 * Replaces everything that JSON cannot hold by tags.
 * @param value the value to be stored; it is not changed
 * @throws TypeError if the value holds something that could not be restored exactly
 */
export function toTagged(value: unknown): Tagged {
  const walk: Walk = { plain: true, steps: [], holders: [] }
  const tree = tagged(value, walk, 0)
  // Without a single tag, the doubled tildes are not needed: the value goes out as it is.
  return walk.plain ? { plain: true, tree: value } : { plain: false, tree }
}

// Returns the given value itself unless a part of it needs a tag, so a plain value costs no copy.
function tagged(value: unknown, walk: Walk, depth: number): unknown {
  switch (typeof value) {
    case 'string':
      return value.charCodeAt(0) === tilde ? `~${value}` : value
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0) ? value : rich(walk, numberTag(value))
    case 'undefined':
      return rich(walk, '~u')
    case 'bigint':
      return rich(walk, value < 0n ? `~j${(-value).toString(16)}` : `~i${value.toString(16)}`)
    case 'object':
      return value === null ? null : taggedObject(value, walk, depth)
    default:
      throw refusal(describeKind(value), walk, depth)
  }
}

function rich<Tag>(walk: Walk, tag: Tag): Tag {
  walk.plain = false
  return tag
}

function numberTag(value: number): string {
  return Number.isNaN(value) ? '~n' : value === 0 ? '~z' : value > 0 ? '~p' : '~m'
}

function taggedObject(value: object, walk: Walk, depth: number): unknown {
  if (types.isProxy(value)) throw refusal('a proxy', walk, depth)
  // Every cycle reaches this limit as well, so shallow values need no cycle check.
  if (depth === deepest) throw tooDeep(walk, depth)
  walk.holders[depth] = value
  // A wide cycle takes long to reach the limit, so a few levels on the way also look for cycles.
  if (depth >= 4 && (depth & (depth - 1)) === 0 && walk.holders.lastIndexOf(value, depth - 1) !== -1) {
    throw tooDeep(walk, depth + 1)
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === null) return rich(walk, ['~O', taggedRecord(value, walk, depth)])
  if (prototype === Array.prototype && Array.isArray(value)) return taggedArray(value, walk, depth)
  if (prototype === Object.prototype) return taggedRecord(value, walk, depth)
  return taggedBuiltIn(value, walk, depth)
}

function taggedRecord(value: object, walk: Walk, depth: number): object {
  if (Object.getOwnPropertySymbols(value).length > 0) throw refusal('a symbol-keyed property', walk, depth)
  if ('toJSON' in value && isHidden(value, 'toJSON')) throw refusal('an object with a hidden toJSON', walk, depth)
  let copy: Record<string, unknown> | undefined
  for (const key of Object.keys(value)) {
    walk.steps[depth] = key
    if (isAccessor(value, key)) throw refusal('an accessor', walk, depth + 1)
    const held = (value as Record<string, unknown>)[key]
    const kept = tagged(held, walk, depth + 1)
    // The spread makes every key an own property, `__proto__` included, so this assignment never meets a setter.
    if (kept !== held) (copy ??= { ...value } as Record<string, unknown>)[key] = kept
  }
  return copy ?? value
}

function taggedArray(value: readonly unknown[], walk: Walk, depth: number): readonly unknown[] {
  if (Object.getOwnPropertySymbols(value).length > 0) throw refusal('a symbol-keyed property', walk, depth)
  if ('toJSON' in value && isHidden(value, 'toJSON')) throw refusal('an array with a hidden toJSON', walk, depth)
  const { length } = value
  const keys = Object.keys(value)
  // Indices come first and ascend, so the last key shows whether all of them are present and nothing else is.
  if (keys.length !== length || (length > 0 && keys[length - 1] !== String(length - 1))) {
    throw irregular(keys, length, walk, depth)
  }
  let copy: unknown[] | undefined
  for (let index = 0; index < length; index++) {
    walk.steps[depth] = index
    // A descriptor per element would cost more than the rest of the walk. A lone setter reads as undefined.
    const getter = lookupGetter.call(value, index)
    const held = getter === undefined ? value[index] : undefined
    if (held === undefined && isAccessor(value, index)) throw refusal('an accessor', walk, depth + 1)
    const kept = tagged(held, walk, depth + 1)
    if (kept !== held) (copy ??= [...value])[index] = kept
  }
  return copy ?? value
}

function isAccessor(holder: object, key: PropertyKey): boolean {
  const property = Object.getOwnPropertyDescriptor(holder, key)
  return property?.get !== undefined || property?.set !== undefined
}

// JSON.stringify would call a method that the walk over the enumerable properties does not see.
function isHidden(holder: object, key: PropertyKey): boolean {
  return Object.getOwnPropertyDescriptor(holder, key)?.enumerable !== true
}

function irregular(keys: string[], length: number, walk: Walk, depth: number): TypeError {
  const regular = keys.findIndex((key, index) => key !== String(index))
  const first = regular === -1 ? keys.length : regular
  walk.steps[depth] = first < length ? first : (keys[first] as string)
  return refusal(first < length ? 'a hole in an array' : 'a named property of an array', walk, depth + 1)
}

function taggedBuiltIn(value: object, walk: Walk, depth: number): unknown {
  const name = builtInAt(value, walk, depth)
  if (name === 'Object') return taggedRecord(value, walk, depth)
  if (name === 'Array') return taggedArray(value as unknown[], walk, depth)
  if (name === 'Date') return rich(walk, `~d${getTime.call(value as Date)}`)
  if (name === 'Map') return rich(walk, taggedMap(value as Map<unknown, unknown>, walk, depth))
  if (name === 'Set') return rich(walk, taggedSet(value as Set<unknown>, walk, depth))
  return rich(walk, `~b${name}:${bytesOf(value as ArrayBuffer | ArrayBufferView).toString('base64')}`)
}

function taggedMap(value: ReadonlyMap<unknown, unknown>, walk: Walk, depth: number): unknown[] {
  const tree: unknown[] = ['~M']
  let index = 0
  for (const [key, held] of value) {
    walk.steps[depth] = { of: 'keys', index }
    tree.push(tagged(key, walk, depth + 1))
    walk.steps[depth] = { of: 'values', index }
    tree.push(tagged(held, walk, depth + 1))
    index++
  }
  return tree
}

function taggedSet(value: ReadonlySet<unknown>, walk: Walk, depth: number): unknown[] {
  const tree: unknown[] = ['~S']
  for (const held of value) {
    walk.steps[depth] = { of: 'values', index: tree.length - 1 }
    tree.push(tagged(held, walk, depth + 1))
  }
  return tree
}

/**
 * Replaces the tags by the values they stand for.
 * @param tree a tree of `toTagged`, parsed from JSON; it is changed and becomes part of the result
 * @throws Error if it holds a tag that this version does not know
 */
export function fromTagged(tree: unknown): unknown {
  if (typeof tree === 'string') return tree.charCodeAt(0) === tilde ? untagText(tree) : tree
  if (typeof tree !== 'object' || tree === null) return tree
  if (Array.isArray(tree)) return untagArray(tree)
  const record = tree as Record<string, unknown>
  for (const key of Object.keys(record)) {
    const held = record[key]
    const value = fromTagged(held)
    // JSON.parse has made every key an own property, `__proto__` included, so this assignment never meets a setter.
    if (value !== held) record[key] = value
  }
  return record
}

function untagArray(tree: unknown[]): unknown {
  const name: unknown = tree[0]
  if (name === '~M') return untagMap(tree)
  if (name === '~S') return new Set(tree.slice(1).map(fromTagged))
  if (name === '~O') return untagBareRecord(tree)
  for (let index = 0; index < tree.length; index++) {
    const held = tree[index]
    const value = fromTagged(held)
    if (value !== held) tree[index] = value
  }
  return tree
}

function untagMap(tree: unknown[]): Map<unknown, unknown> {
  const map = new Map<unknown, unknown>()
  if (tree.length % 2 === 0) throw new Error('Expected a value for each key of a Map')
  for (let index = 1; index < tree.length; index += 2) map.set(fromTagged(tree[index]), fromTagged(tree[index + 1]))
  return map
}

function untagBareRecord(tree: unknown[]): object {
  const record: unknown = tree[1]
  if (typeof record !== 'object' || record === null || Array.isArray(record) || tree.length !== 2) {
    throw new Error('Expected one object to take the prototype from')
  }
  return Object.setPrototypeOf(fromTagged(record), null) as object
}

function untagText(text: string): unknown {
  const rest = text.slice(2)
  switch (text[1]) {
    case '~':
      return text.slice(1)
    case 'd':
      return new Date(Number(rest))
    case 'u':
      return undefined
    case 'n':
      return Number.NaN
    case 'p':
      return Number.POSITIVE_INFINITY
    case 'm':
      return Number.NEGATIVE_INFINITY
    case 'z':
      return -0
    case 'i':
      return BigInt(`0x${rest}`)
    case 'j':
      return -BigInt(`0x${rest}`)
    case 'b': {
      const colon = rest.indexOf(':')
      return fromBytes(rest.slice(0, colon), Buffer.from(rest.slice(colon + 1), 'base64'))
    }
    default:
      throw new Error('Expected a tag of this version')
  }
}
