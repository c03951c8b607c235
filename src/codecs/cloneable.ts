import { types } from 'node:util'
import { builtInAt, describeKind, refusal, type Trail } from '../core/codec/built-in.ts'

const deepest = 1_000

/** The error classes that V8 restores; an instance of any other comes back as an Error. */
const errors = ['Error', 'EvalError', 'RangeError', 'ReferenceError', 'SyntaxError', 'TypeError', 'URIError']

const lookupGetter = Reflect.get(Object.prototype, '__lookupGetter__') as (this: object, key: PropertyKey) => unknown

interface Walk extends Trail {
  readonly seen: Set<object>
}

/**
 * Searches a value for parts that V8 would refuse without a path, or would restore as something else.
 * @throws TypeError with the path to the first such part
 */
export function refuseWhatChanges(value: unknown): void {
  visit(value, { steps: [], holders: [], seen: new Set() }, 0)
}

function visit(value: unknown, walk: Walk, depth: number): void {
  if (typeof value === 'function' || typeof value === 'symbol') throw refusal(describeKind(value), walk, depth)
  if (typeof value !== 'object' || value === null || walk.seen.has(value)) return
  if (types.isProxy(value)) throw refusal('a proxy', walk, depth)
  // Without a bound, a value could be written that cannot be read from deeper in the stack.
  if (depth === deepest) throw refusal(`more than ${deepest} levels of nesting`, walk, depth)
  walk.seen.add(value)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === Object.prototype) visitRecord(value, walk, depth)
  else if (prototype === Array.prototype && Array.isArray(value)) visitArray(value, walk, depth)
  else if (prototype === null) throw refusal('an object without a prototype', walk, depth)
  else if (types.isNativeError(value)) visitError(value, walk, depth)
  else if (types.isRegExp(value)) visitRegExp(value, walk, depth)
  else visitBuiltIn(value, walk, depth)
}

function visitRecord(value: object, walk: Walk, depth: number): void {
  if (Object.getOwnPropertySymbols(value).length > 0) throw refusal('a symbol-keyed property', walk, depth)
  for (const key of Object.keys(value)) visitProperty(value, key, walk, depth)
}

function visitProperty(holder: object, key: string | number, walk: Walk, depth: number): void {
  walk.steps[depth] = key
  // A descriptor per property would cost more than the rest of the walk. A lone setter reads as undefined.
  if (lookupGetter.call(holder, key) !== undefined) throw refusal('an accessor', walk, depth + 1)
  visit((holder as Record<string | number, unknown>)[key], walk, depth + 1)
}

function visitArray(value: readonly unknown[], walk: Walk, depth: number): void {
  if (Object.getOwnPropertySymbols(value).length > 0) throw refusal('a symbol-keyed property', walk, depth)
  const keys = Object.keys(value)
  const dense = keys.length === value.length && (keys.length === 0 || keys.at(-1) === String(value.length - 1))
  if (!dense) for (const key of keys) visitProperty(value, key, walk, depth)
  else for (let index = 0; index < value.length; index++) visitProperty(value, index, walk, depth)
}

function visitBuiltIn(value: object, walk: Walk, depth: number): void {
  const name = builtInAt(value, walk, depth)
  if (name === 'Object') visitRecord(value, walk, depth)
  if (name === 'Array') visitArray(value as unknown[], walk, depth)
  if (name === 'Set') visitMembers(value as Set<unknown>, 'values', walk, depth)
  if (name === 'Map') {
    visitMembers((value as Map<unknown, unknown>).keys(), 'keys', walk, depth)
    visitMembers((value as Map<unknown, unknown>).values(), 'values', walk, depth)
  }
}

function visitMembers(members: Iterable<unknown>, of: 'keys' | 'values', walk: Walk, depth: number): void {
  let index = 0
  for (const member of members) {
    walk.steps[depth] = { of, index }
    visit(member, walk, depth + 1)
    index++
  }
}

function visitError(value: Error, walk: Walk, depth: number): void {
  if (!errors.includes(nativeClassOf(value))) throw refusal(describeKind(value), walk, depth)
  for (const [key, { value: held }] of Object.entries(Object.getOwnPropertyDescriptors(value))) {
    walk.steps[depth] = key
    if (key === 'cause') visit(held, walk, depth + 1)
    else if (key === 'message' && typeof held !== 'string') throw refusal('a message that is no text', walk, depth + 1)
    else if (key !== 'message' && key !== 'stack') throw refusal('a named property of an error', walk, depth + 1)
  }
  if (Object.getOwnPropertySymbols(value).length > 0) throw refusal('a symbol-keyed property', walk, depth)
}

function visitRegExp(value: RegExp, walk: Walk, depth: number): void {
  if (nativeClassOf(value) !== 'RegExp') throw refusal(describeKind(value), walk, depth)
  if (Reflect.ownKeys(value).length > 1 || value.lastIndex !== 0) {
    throw refusal('a RegExp with a lastIndex or a property of its own', walk, depth)
  }
}

/** The name of the built-in class, of any realm, of which an object is a direct instance; '' if there is none. */
function nativeClassOf(value: object): string {
  const prototype: object = Object.getPrototypeOf(value)
  const maker: unknown = Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value
  if (typeof maker !== 'function' || maker.prototype !== prototype) return ''
  return Function.prototype.toString.call(maker).endsWith('{ [native code] }') ? maker.name : ''
}
