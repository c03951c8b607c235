import { createHash } from 'node:crypto'
import { types } from 'node:util'
import { builtInAt, describeKind } from '../codec/built-in.ts'

/** The longest key in plain text, in characters: longer keys are unreadable, and every command carries them. */
const longest = 1_000

/** The most levels of arrays and objects in the arguments. */
const deepest = 100

/** The path from the arguments to the current position of a walk. */
interface Way {
  readonly name: string
  readonly steps: (string | number)[]
  readonly holders: object[]
}

/**
 * The key for a function's name and its arguments, written like a call: `user(42,"de")`. Two argument lists have the
 * same key exactly if they are deeply equal by `Object.is`; neither the order of properties nor trailing `undefined`s
 * matter. In a key of more than 1 000 characters, the SHA-256 of the arguments takes their place.
 * @param name without parentheses, so that two names never make the same key
 * @throws TypeError that names the argument and the reason why no key can be made of it
 */
export function argumentsKey(name: string, args: readonly unknown[]): string {
  const way: Way = { name, steps: [], holders: [] }
  const text = args
    .slice(0, args.findLastIndex((arg) => arg !== undefined) + 1)
    .map((arg, index) => below(arg, index, way))
    .join()
  if (name.length + text.length + 2 <= longest) return `${name}(${text})`
  // No argument list has this form, so a hashed key never equals a plain one.
  return `${name}(sha256:${createHash('sha256').update(text).digest('base64url')})`
}

/** A deep copy of arguments from which a key can be made: later changes by the caller do not reach it. */
export function copied<T>(value: T): T
export function copied(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copied)
  if (types.isDate(value)) return new Date(value)
  return Object.fromEntries(Object.entries(value).map(([property, held]) => [property, copied(held)]))
}

function below(value: unknown, step: string | number, way: Way): string {
  way.steps.push(step)
  const text = written(value, way)
  way.steps.pop()
  return text
}

function written(value: unknown, way: Way): string {
  switch (typeof value) {
    case 'string':
      // A lone surrogate becomes an escape: UTF-8 has no bytes for it.
      return JSON.stringify(value)
    case 'number':
      return Object.is(value, -0) ? '-0' : String(value)
    case 'bigint':
      return `${value}n`
    case 'boolean':
    case 'undefined':
      return String(value)
    case 'object':
      return value === null ? 'null' : writtenObject(value, way)
    default:
      throw refused(way, describeKind(value))
  }
}

function writtenObject(value: object, way: Way): string {
  if (types.isProxy(value)) throw refused(way, 'a proxy')
  if (way.holders.includes(value)) throw refused(way, 'a cyclic reference')
  if (way.holders.length === deepest) throw refused(way, `below ${deepest} levels of nesting`)
  const kind = kindOf(value)
  if (kind === 'Date') return Number.isNaN(Number(value)) ? 'Invalid Date' : (value as Date).toISOString()
  if (kind !== 'Array' && kind !== 'Object') throw refused(way, describeKind(value))
  if (Object.getOwnPropertySymbols(value).length > 0) throw refused(way, 'an object with a symbol-keyed property')
  way.holders.push(value)
  const text = kind === 'Array' ? writtenArray(value as unknown[], way) : writtenRecord(value, way)
  way.holders.pop()
  return text
}

function writtenArray(value: readonly unknown[], way: Way): string {
  const extra = Object.keys(value).find((key, index) => key !== String(index))
  if (extra !== undefined || Object.keys(value).length < value.length) {
    throw refused(way, 'an array with holes or named properties')
  }
  return `[${value.map((_, index) => below(heldBy(value, index, way), index, way)).join()}]`
}

function writtenRecord(value: object, way: Way): string {
  const properties = Object.keys(value).toSorted()
  return `{${properties.map((name) => `${propertyName(name)}:${below(heldBy(value, name, way), name, way)}`).join()}}`
}

// A getter may return another value each time.
function heldBy(holder: object, step: string | number, way: Way): unknown {
  const property = Object.getOwnPropertyDescriptor(holder, step)
  if (property !== undefined && 'value' in property) return property.value
  way.steps.push(step)
  throw refused(way, 'an accessor')
}

function propertyName(name: string): string {
  return isIdentifier(name) ? name : JSON.stringify(name)
}

function isIdentifier(step: string | number): boolean {
  return /^[A-Za-z_$][\w$]*$/.test(String(step))
}

/** The built-in class of which an object is a direct instance without additions; `'Object'` without a prototype too. */
function kindOf(value: object): string | null {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === null || prototype === Object.prototype) return 'Object'
  if (prototype === Array.prototype && Array.isArray(value)) return 'Array'
  try {
    return builtInAt(value, { steps: [], holders: [] }, 0)
  } catch {
    return null
  }
}

function refused({ name, steps }: Way, what: string): TypeError {
  const place = steps.map((step) => (isIdentifier(step) ? `.${step}` : `[${JSON.stringify(step)}]`)).join('')
  return new TypeError(
    `Cannot make a key of the arguments of ${name}: args${place.slice(0, 200)} is ${what}; ` +
      'give `key` as a function that makes the key',
  )
}
