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
  }),
)

/** What a view is asked for when its bytes are read: its own must not answer instead. */
const shadowed = ['buffer', 'byteOffset', 'byteLength']

/**
 * The name of the built-in class that an object is a direct instance of, with nothing of its own put on it.
 * A class of another realm counts: under Jest what `fetch` and `structuredClone` return is of the outer one.
 * @param value no proxy, and not without a prototype
 * @param trail the way to it, for the error
 * @param depth how many steps of the trail lead there
 * @throws TypeError when its class is another one, or when it is more than its class makes it
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
  // Buffer is not native code, and neither is Date while a test has replaced it.
  if (prototype === Date.prototype) return types.isDate(value) ? 'Date' : undefined
  if (prototype === Buffer.prototype) return types.isUint8Array(value) ? 'Buffer' : undefined
  const maker: unknown = Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value
  if (typeof maker !== 'function' || maker.prototype !== prototype || !isNative(maker)) return undefined
  return hasSlots(value, maker.name) ? maker.name : undefined
}

function isNative(maker: unknown): boolean {
  return Function.prototype.toString.call(maker).endsWith('{ [native code] }')
}

// Any object can have Date's prototype; what makes it a Date is inside.
function hasSlots(value: object, name: string): boolean {
  if (name === 'Date') return types.isDate(value)
  if (name === 'Map') return types.isMap(value)
  if (name === 'Set') return types.isSet(value)
  if (name === 'Array') return Array.isArray(value)
  if (name === 'ArrayBuffer') return types.isArrayBuffer(value)
  if (views.has(name)) return ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === `[object ${name}]`
  return name === 'Object'
}

// What of an instance of a built-in class could not come back, in words.
function flawOf(value: object): string | undefined {
  if (Object.getOwnPropertySymbols(value).length > 0) return 'with a symbol-keyed property'
  if (types.isArrayBuffer(value) && !isPlain(value)) return 'that is resizable or detached'
  if (!ArrayBuffer.isView(value)) return Object.keys(value).length > 0 ? 'with a named property' : undefined
  if (shadowed.some((name) => Object.hasOwn(value, name))) return 'with a named property'
  if (!isPlain(value.buffer)) return 'on shared, resizable or detached memory'
  // A view's keys begin with all its indices; to compare it with a fresh view of the same memory is far cheaper.
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

/** The bytes of binary data, not copied. */
export function bytesOf(value: ArrayBuffer | ArrayBufferView): Buffer {
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  return Buffer.from(value)
}

/**
 * An instance of a class of binary data.
 * @param name what `classOf` calls the class
 * @param bytes the content, which is copied
 * @throws Error when there is no such class, or when its elements do not come out even
 */
export function fromBytes(name: string, bytes: Uint8Array): ArrayBuffer | ArrayBufferView {
  if (name === 'Buffer') return Buffer.from(bytes)
  const memory = new Uint8Array(bytes).buffer
  if (name === 'ArrayBuffer') return memory
  const Maker = views.get(name)
  if (Maker === undefined) throw new Error(`Expected a class of binary data, got ${name}`)
  return new Maker(memory)
}

/** One step from a value into what it holds: a property's key, an index, or the place in a Map or Set. */
export type Step = string | number | { readonly of: 'keys' | 'values'; readonly index: number }

/** The way from a value down to the place a walk has come to. */
export interface Trail {
  /** `steps[n]` leads from `holders[n]` to what is below it. */
  readonly steps: Step[]
  /** The objects on the way, the outermost first. */
  readonly holders: object[]
}

/**
 * The error for what cannot be stored.
 * @param what the thing as it stands in the message: `a function`
 * @param trail the way to it
 * @param depth how many steps of the trail lead there
 */
export function refusal(what: string, trail: Trail, depth: number): TypeError {
  return new TypeError(`Cannot store ${what} at ${path(trail.steps.slice(0, depth))}`)
}

/** The error for a value that goes deeper than a walk may follow, which each cycle does. */
export function tooDeep(trail: Trail, depth: number): TypeError {
  const seen = new Set<object>()
  for (const [level, holder] of trail.holders.slice(0, depth).entries()) {
    if (seen.has(holder)) return refusal('a cyclic reference', trail, level)
    seen.add(holder)
  }
  return refusal(`more than ${depth} levels of nesting`, trail, depth)
}

/** What stands where nothing can be stored, in words. Runs no code of the value's. */
export function describeKind(value: unknown): string {
  if (typeof value !== 'object' || value === null) return `a ${typeof value}`
  const made: unknown = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(value) ?? {}, 'constructor')?.value
  if (typeof made !== 'function') return 'an object whose prototype is an object of its own'
  const name: unknown = Object.getOwnPropertyDescriptor(made, 'name')?.value
  return `an instance of ${typeof name === 'string' && name !== '' ? name.slice(0, 100) : 'a class without a name'}`
}

function path(steps: Step[]): string {
  // Deep down the first and the last steps tell more than a thousand between them.
  if (steps.length > 20) return `${path(steps.slice(0, 10))}…${path(steps.slice(-10)).slice('value'.length)}`
  return `value${steps.map(written).join('')}`
}

function written(step: Step): string {
  if (typeof step === 'number') return `[${step}]`
  if (typeof step === 'object') return `.${step.of}()[${step.index}]`
  return /^[A-Za-z_$][\w$]{0,99}$/.test(step) ? `.${step}` : `[${quoted(step)}]`
}
