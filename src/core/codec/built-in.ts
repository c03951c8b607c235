import { isDeepStrictEqual, types } from 'node:util'
import { quoted } from '../errors.ts'

type View = new (memory: ArrayBufferLike, offset?: number, length?: number) => ArrayBufferView

const views = new Map<string, View>(
  Object.entries({
    Int8Array,
    Uint8Array,
    Uint8ClampedArray,
    Int16Array,
    Uint16Array,
    Int32Array,
    Uint32Array,
    Float32Array,
    Float64Array,
    BigInt64Array,
    BigUint64Array,
    DataView,
    // Since Node.js 24.
    ...('Float16Array' in globalThis && { Float16Array: Reflect.get(globalThis, 'Float16Array') as View }),
  }),
)

/**
 * The properties through which the bytes of a view are read; an own property of the same name would shadow the
 * accessor.
 */
const shadowed = ['buffer', 'byteOffset', 'byteLength']

/**
 * The name of the built-in class of which an object is a direct instance without own additions. Classes of another
 * realm count: under Jest, `fetch` and `structuredClone` return objects of the outer realm.
 * @param value not a proxy, and not an object without a prototype
 * @param trail the path to the value, for the error message
 * @param depth how many steps of the trail lead to the value
 * @throws TypeError if the class is not a built-in one, or the instance has additions that the codec cannot restore
 */
export function builtInAt(value: object, trail: Trail, depth: number): string {
  const name = classOf(value)
  if (name === undefined) throw refusal(describeKind(value), trail, depth)
  const flaw = name === 'Object' || name === 'Array' ? undefined : flawOf(value)
  if (flaw !== undefined) throw refusal(`${describeKind(value)} ${flaw}`, trail, depth)
  return name
}

function classOf(value: object): string | undefined {
  const prototype: object = Object.getPrototypeOf(value)
  // Neither Buffer nor a Date that a test has replaced is native code.
  if (prototype === Date.prototype) return types.isDate(value) ? 'Date' : undefined
  if (prototype === Buffer.prototype) return types.isUint8Array(value) ? 'Buffer' : undefined
  const maker: unknown = Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value
  if (typeof maker !== 'function' || maker.prototype !== prototype || !isNative(maker)) return undefined
  return hasSlots(value, maker.name) ? maker.name : undefined
}

function isNative(maker: unknown): boolean {
  return Function.prototype.toString.call(maker).endsWith('{ [native code] }')
}

// Any object can have Date's prototype; only a real Date has its internal slots.
function hasSlots(value: object, name: string): boolean {
  if (name === 'Date') return types.isDate(value)
  if (name === 'Map') return types.isMap(value)
  if (name === 'Set') return types.isSet(value)
  if (name === 'Array') return Array.isArray(value)
  if (name === 'ArrayBuffer') return types.isArrayBuffer(value)
  if (views.has(name)) return ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === `[object ${name}]`
  return name === 'Object'
}

// The part of a built-in instance that the codec could not restore, in words; `undefined` if there is none.
function flawOf(value: object): string | undefined {
  if (Object.getOwnPropertySymbols(value).length > 0) return 'with a symbol-keyed property'
  if (types.isArrayBuffer(value) && !isPlain(value)) return 'that is resizable or detached'
  if (!ArrayBuffer.isView(value)) return Object.keys(value).length > 0 ? 'with a named property' : undefined
  if (shadowed.some((name) => Object.hasOwn(value, name))) return 'with a named property'
  if (!isPlain(value.buffer)) return 'on shared, resizable or detached memory'
  // The keys of a view begin with all its indices. Comparing it with a fresh view of the same memory is far cheaper.
  return isDeepStrictEqual(value, freshView(value)) ? undefined : 'with a named property'
}

function isPlain(memory: ArrayBufferLike): boolean {
  if (!types.isArrayBuffer(memory) || (memory as { resizable?: boolean }).resizable === true) return false
  try {
    return memory.byteLength > 0 || new Uint8Array(memory).length === 0
  } catch {
    return false // detached
  }
}

function freshView(view: ArrayBufferView): ArrayBufferView {
  const { buffer, byteOffset, byteLength } = view
  if (Buffer.isBuffer(view)) return Buffer.from(buffer, byteOffset, byteLength)
  const Maker = Object.getPrototypeOf(view).constructor as View & { BYTES_PER_ELEMENT?: number }
  return new Maker(buffer, byteOffset, byteLength / (Maker.BYTES_PER_ELEMENT ?? 1))
}

/** The bytes of a binary value. They share its memory. */
export function bytesOf(value: ArrayBuffer | ArrayBufferView): Buffer {
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  return Buffer.from(value)
}

/**
 * A binary value of the named class.
 * @param name the class, as `builtInAt` names it
 * @param bytes the content, which is copied
 * @throws Error if there is no such class, or if the bytes are not a whole number of its elements
 */
export function fromBytes(name: string, bytes: Uint8Array): ArrayBuffer | ArrayBufferView {
  if (name === 'Buffer') return Buffer.from(bytes)
  const memory = new Uint8Array(bytes).buffer
  if (name === 'ArrayBuffer') return memory
  const Maker = views.get(name)
  if (Maker === undefined) throw new Error(`Expected a class of binary data, got ${name}`)
  return new Maker(memory)
}

/** One step from a value into its content: a property key, an index, or a position in a Map or Set. */
export type Step = string | number | { readonly of: 'keys' | 'values'; readonly index: number }

/** The path from the root value to the current position of a walk. */
export interface Trail {
  /** `steps[n]` leads from `holders[n]` to the value below it. */
  readonly steps: Step[]
  /** The objects on the path, outermost first. */
  readonly holders: object[]
}

/**
 * The error for a value that the codec cannot store.
 * @param what the kind of value, as the message names it: `a function`
 * @param trail the path to it
 * @param depth how many steps of the trail lead to it
 */
export function refusal(what: string, trail: Trail, depth: number): TypeError {
  return new TypeError(`Cannot store ${what} at ${path(trail.steps.slice(0, depth))}`)
}

/** The error for a value with more levels than a walk follows. Every cycle ends here too. */
export function tooDeep(trail: Trail, depth: number): TypeError {
  const seen = new Set<object>()
  for (const [level, holder] of trail.holders.slice(0, depth).entries()) {
    if (seen.has(holder)) return refusal('a cyclic reference', trail, level)
    seen.add(holder)
  }
  return refusal(`more than ${depth} levels of nesting`, trail, depth)
}

/** The kind of a value that cannot be stored, in words. Runs none of the value's own code. */
export function describeKind(value: unknown): string {
  if (typeof value !== 'object' || value === null) return `a ${typeof value}`
  const made: unknown = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(value) ?? {}, 'constructor')?.value
  if (typeof made !== 'function') return 'an object whose prototype is an object of its own'
  const name: unknown = Object.getOwnPropertyDescriptor(made, 'name')?.value
  return `an instance of ${typeof name === 'string' && name !== '' ? name.slice(0, 100) : 'a class without a name'}`
}

function path(steps: Step[]): string {
  // The first and the last steps of a deep path say more than the thousand between them.
  if (steps.length > 20) return `${path(steps.slice(0, 10))}…${path(steps.slice(-10)).slice('value'.length)}`
  return `value${steps.map(written).join('')}`
}

function written(step: Step): string {
  if (typeof step === 'number') return `[${step}]`
  if (typeof step === 'object') return `.${step.of}()[${step.index}]`
  return /^[A-Za-z_$][\w$]{0,99}$/.test(step) ? `.${step}` : `[${quoted(step)}]`
}
