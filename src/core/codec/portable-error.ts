import { attempt, CacheError, isError, type PortableError } from '../errors.ts'
import { formatValue } from '../time/duration.ts'

/** A class of errors, of any constructor. */
export type ErrorClass = abstract new (...args: never[]) => Error

/** A class whose errors hold more than properties, with the functions for its way to other processes. */
export interface ErrorForm<E extends Error = Error> {
  readonly class: abstract new (...args: never[]) => E
  /** The parts of an error, as a value that JSON can hold, of up to 8 000 characters. */
  write(error: E): unknown
  /** The error from its parts. */
  read(parts: never): E
}

/** How the errors of loaders travel to other processes. */
export interface ErrorOptions {
  /**
   * Errors of these classes are instances of them in other processes, too. The constructor is not called; a class that
   * needs it is given with functions.
   */
  readonly classes?: readonly (ErrorClass | ErrorForm<never>)[] | undefined
  /** Names of properties that leave no process, besides those that look like secrets or like values of a query. */
  readonly omit?: readonly string[] | undefined
}

interface KnownClass {
  readonly name: string
  readonly prototype: Error
  readonly form: ErrorForm | null
}

/** What the processes of a fleet know of the errors of its loaders. */
export interface ErrorKnowledge {
  /** Errors of these classes are instances of them in other processes, too. */
  readonly classes: readonly KnownClass[]
  /** Further names of properties that leave no process. */
  readonly omit: ReadonlySet<string>
}

const longestText = 1_000
const longestProperties = 8_000
const deepest = 4
/** The number of errors in a chain of causes, with the first. */
const mostCauses = 5

/**
 * The names of properties that leave no process: secrets, and what a driver of a database adds of a query and of the
 * values in it.
 */
const secret =
  /pass(?:word|wd|phrase)|^pwd$|secret|token|cookie|credential|authori[sz]ation|api[-_]?key|private[-_]?key|session|signature|^stack$/iu
const ofQueries = new Set([
  'sql',
  'query',
  'parameters',
  'params',
  'bindings',
  'values',
  'detail',
  'where',
  'internalQuery',
])

/** Parts of `Error` that travel by themselves, and names that would change the prototype of an object. */
const own = new Set(['name', 'message', 'code', 'cause', 'stack', '__proto__', 'constructor', 'prototype'])

/** The name and password in an address, which clients quote in their messages. */
const credentials = /\/\/[^\s/@]*:[^\s/@]*@/gu
/** The values that Drizzle appends to the text of a query. */
const parameters = /\nparams: .*/su

/** The classes that every process has. */
const common: readonly KnownClass[] = [CacheError, TypeError, RangeError, SyntaxError, ReferenceError, URIError].map(
  ({ name, prototype }) => ({ name, prototype, form: null }),
)

/** The knowledge of a cache without the option. */
export const noErrors: ErrorKnowledge = { classes: common, omit: new Set() }

/**
 * The given classes and names.
 * @throws TypeError unless they are classes of errors with names of their own, and names of properties
 */
export function checkedErrors(name: string, value: unknown): ErrorKnowledge {
  const given = Array.isArray(value) ? { classes: value as readonly ErrorClass[] } : (value as ErrorOptions)
  if (given === null || typeof given !== 'object') {
    throw new TypeError(`Expected \`${name}\` to be an array of classes, or an object, got ${formatValue(value)}`)
  }
  const { classes = [], omit = [], ...others } = given as ErrorOptions
  const [unknown] = Object.keys(others)
  if (unknown !== undefined)
    throw new TypeError(`Expected \`${name}\` to have \`classes\` or \`omit\`, got \`${unknown}\``)
  if (!Array.isArray(classes))
    throw new TypeError(`Expected \`${name}.classes\` to be an array of classes, got ${formatValue(classes)}`)
  const found = classes.map((each: unknown) => {
    const known = knownClass(each)
    if (known !== null) return known
    throw new TypeError(
      `Expected the classes of \`${name}\` to extend Error, or to be { class, write, read }, got ${formatValue(each)}`,
    )
  })
  for (const [at, { name: each }] of found.entries()) {
    if (each === '' || found.findIndex((other) => other.name === each) < at)
      throw new TypeError(`Expected the classes of \`${name}\` to have names of their own, got '${each}'`)
  }
  if (!Array.isArray(omit) || omit.some((each) => typeof each !== 'string'))
    throw new TypeError(`Expected \`${name}.omit\` to be an array of strings, got ${formatValue(omit)}`)
  return { classes: [...found, ...common], omit: new Set(omit) }
}

/** A class with the functions of its form, if it has one; `null` for a value of another kind. */
function knownClass(value: unknown): KnownClass | null {
  const form = isForm(value) ? value : null
  const kind: unknown = form === null ? value : form.class
  if (typeof kind !== 'function' || !(kind === Error || kind.prototype instanceof Error)) return null
  return { name: kind.name, prototype: kind.prototype as Error, form }
}

function isForm(value: unknown): value is ErrorForm {
  if (typeof value !== 'object' || value === null) return false
  const { write, read } = value as Partial<ErrorForm>
  return typeof write === 'function' && typeof read === 'function'
}

/** An error for other processes. */
export function portableOf(error: Error, known: ErrorKnowledge, depth = 1): PortableError {
  const { name, message, code, cause } = readable(error)
  const type = attempt(() => typeOf(error, known.classes))
  const parts = type?.form == null ? undefined : written(error, type.form)
  const properties = parts === undefined ? (attempt(() => propertiesOf(error, known)) ?? null) : null
  return {
    name: typeof name === 'string' ? cut(name) : 'Error',
    message: portableText(typeof message === 'string' ? message : ''),
    ...(type === undefined ? {} : { type: type.name }),
    ...(parts === undefined ? {} : { parts }),
    ...(typeof code === 'string' ? { code: cut(code) } : typeof code === 'number' ? { code } : {}),
    ...(properties === null ? {} : { properties }),
    ...(isError(cause) && depth < mostCauses ? { cause: portableOf(cause, known, depth + 1) } : {}),
  }
}

/** The error in parsed JSON, which any client may have written; `null` if there is none. */
export function portableIn(said: unknown, depth = 1): PortableError | null {
  const { name, message, type, parts, code, properties, cause } = membersOf(said)
  if (typeof name !== 'string' || typeof message !== 'string' || depth > mostCauses) return null
  const inner = portableIn(cause, depth + 1)
  return {
    name,
    message,
    ...(typeof type === 'string' ? { type } : {}),
    ...(parts === undefined ? {} : { parts }),
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(typeof properties === 'object' && properties !== null ? { properties: membersOf(properties) } : {}),
    ...(inner === null ? {} : { cause: inner }),
  }
}

/** The members of an object; none for any other value. */
export function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

/**
 * The error for callers in other processes. Everything is bounded again: any client of the server may have written it.
 */
export function revivedError(portable: PortableError, known: ErrorKnowledge, depth = 1): Error {
  const [name, message] = [cut(portable.name), cut(portable.message)]
  const { type, parts, code, properties, cause } = portable
  const found = known.classes.find((each) => each.name === type)
  const read = parts === undefined || found?.form == null ? null : readBack(parts, found.form)
  if (read !== null) return read
  const error =
    cause === undefined || cause === null || depth >= mostCauses
      ? new Error(message)
      : new Error(message, { cause: revivedError(cause, known, depth + 1) })
  // The constructor may want other arguments, and may do more than construct.
  if (found !== undefined) Object.setPrototypeOf(error, found.prototype)
  // A stack from here would point into this library instead of at the failure.
  error.stack = `${name}: ${message}\n    at the loader, in another process`
  if (attempt(() => error.name) !== name) define(error, 'name', name, false)
  for (const [key, value] of Object.entries(bounded(properties ?? {}, known) ?? {})) define(error, key, value, true)
  if (code !== undefined) define(error, 'code', typeof code === 'string' ? cut(code) : code, true)
  return error
}

/** The properties of an error that another process may see. Reading them may run code of the error's class. */
function readable(error: Error): Record<'name' | 'message' | 'code' | 'cause', unknown> {
  const read = (key: string): unknown => attempt(() => Reflect.get(error, key))
  return { name: read('name'), message: read('message'), code: read('code'), cause: read('cause') }
}

/** The parts of an error by the functions of its class; `undefined` if they fail, or for more than there is room for. */
function written(error: Error, form: ErrorForm): unknown {
  return attempt(() => {
    const text = JSON.stringify(form.write(error))
    return text.length > longestProperties ? undefined : (JSON.parse(text) as unknown)
  })
}

function readBack(parts: unknown, form: ErrorForm): Error | null {
  const error: unknown = attempt(() => form.read(parts as never))
  return isError(error) ? error : null
}

/** The nearest class of an error among those that are known. */
function typeOf(error: Error, classes: readonly KnownClass[]): KnownClass | undefined {
  for (let kind: unknown = Object.getPrototypeOf(error); kind !== null; kind = Object.getPrototypeOf(kind as object)) {
    const found = classes.find((each) => each.prototype === kind)
    if (found !== undefined) return found
  }
  return undefined
}

function propertiesOf(error: Error, known: ErrorKnowledge): Record<string, unknown> | null {
  const found: Record<string, unknown> = {}
  for (const key of Object.keys(error)) {
    // Not by a getter. The descriptor of `stack`, which is not enumerable, would run code of the error.
    if (!own.has(key)) found[key] = Object.getOwnPropertyDescriptor(error, key)?.value
  }
  return bounded(found, known)
}

/** The properties that may travel, as long as there is room; `null` if there are none. */
function bounded(properties: Readonly<Record<string, unknown>>, known: ErrorKnowledge): Record<string, unknown> | null {
  const kept: Record<string, unknown> = {}
  let room = longestProperties
  for (const [key, value] of Object.entries(properties)) {
    if (own.has(key) || isHidden(key, known)) continue
    const plain = plainOf(value, known, 1)
    if (plain === undefined) continue
    room -= key.length + JSON.stringify(plain).length
    if (room < 0) break
    kept[key] = plain
  }
  return Object.keys(kept).length === 0 ? null : kept
}

/** A copy of a value that JSON can hold, without hidden members; `undefined` for any other value. */
function plainOf(value: unknown, known: ErrorKnowledge, depth: number): unknown {
  if (value === null || typeof value === 'boolean') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  if (typeof value === 'string') return value.length > longestText ? undefined : cleaned(value)
  if (typeof value !== 'object' || depth > deepest) return undefined
  if (Array.isArray(value)) {
    const items = value.map((item) => plainOf(item, known, depth + 1))
    return items.includes(undefined) ? undefined : items
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return undefined
  const copy: Record<string, unknown> = {}
  for (const [key, member] of Object.entries(value)) {
    if (own.has(key) && key !== 'name' && key !== 'message' && key !== 'code') continue
    if (isHidden(key, known) || member === undefined) continue
    const plain = plainOf(member, known, depth + 1)
    if (plain === undefined) return undefined
    copy[key] = plain
  }
  return copy
}

function isHidden(name: string, { omit }: ErrorKnowledge): boolean {
  return secret.test(name) || ofQueries.has(name) || omit.has(name)
}

/** A message for other processes: bounded, and without what clients quote of addresses and of queries. */
export function portableText(text: string): string {
  return cut(cleaned(text))
}

function cleaned(text: string): string {
  return text.replaceAll(credentials, '//').replace(parameters, '')
}

function define(error: Error, name: string, value: unknown, enumerable: boolean): void {
  Object.defineProperty(error, name, { value, enumerable, configurable: true, writable: true })
}

function cut(text: string): string {
  return text.length > longestText ? `${text.slice(0, longestText)}…` : text
}
