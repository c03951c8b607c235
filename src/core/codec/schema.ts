import { isDeepStrictEqual, types } from 'node:util'
import { CacheError, ignoreRejection, loadFailedError, quoted } from '../errors.ts'
import { formatValue } from '../time/duration.ts'

/**
 * A Standard Schema (standardschema.dev, version 1), such as those of zod, Valibot and ArkType. It must validate
 * synchronously.
 */
export interface Schema<In = unknown, Out = In> {
  readonly '~standard': {
    readonly version: 1
    readonly validate: (value: unknown) => SchemaResult<Out> | Promise<SchemaResult<Out>>
    readonly types?: { readonly input: In; readonly output: Out } | undefined
  }
}

/** A schema, or none. */
export type MaybeSchema = Schema | undefined

/**
 * What a schema takes: its input, or anything without a schema. Asked first for `undefined`, which without
 * `strictNullChecks` extends everything, a schema too.
 */
export type Taken<S extends MaybeSchema> = S extends undefined ? unknown : TypesOf<S>['input']

/** What callers are given: the output of the schema, or the loaded value without a schema. */
export type Given<S extends MaybeSchema, T> = S extends undefined ? T : TypesOf<S>['output']

type TypesOf<S extends MaybeSchema> = NonNullable<NonNullable<S>['~standard']['types']>

/** The answer of a schema: the output, or the issues of a value that does not pass. */
export type SchemaResult<Out> =
  | { readonly value: Out; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

/** A reason why a value does not pass its schema. */
export interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** The properties that calls must have in common to be given the same value: a key may have values of several kinds. */
export interface Kind {
  readonly schema: Schema | null
  readonly version: string | null
}

/** Whether two calls may be given the same value. */
export function isSameKind(one: Kind, other: Kind): boolean {
  return one.schema === other.schema && one.version === other.version
}

/**
 * The given schema.
 * @throws TypeError unless it has the form of the standard
 */
export function checkedSchema(name: string, value: unknown): Schema {
  // A schema of ArkType is a function.
  const isHolder = (typeof value === 'object' && value !== null) || typeof value === 'function'
  const { version, validate } = (isHolder && (value as Partial<Schema>)['~standard']) || {}
  if (version === 1 && typeof validate === 'function') return value as Schema
  throw new TypeError(`Expected \`${name}\` to be a Standard Schema, such as one of zod 4, got ${formatValue(value)}`)
}

/** The result of a check. `fails`: with an error that names the places and has the issues. */
export type Checked =
  | { readonly state: 'passes'; readonly output: unknown }
  | { readonly state: 'fails'; readonly error: Error }

/**
 * Checks a value by a schema.
 * @throws TypeError for an asynchronous schema; what the schema throws
 */
export function checkBy(schema: Schema, value: unknown): Checked {
  const result = schema['~standard'].validate(value)
  if (types.isPromise(result)) {
    ignoreRejection(result)
    // A value is decoded between the reply of the store and the answer: in a pause there, an invalidation could pass by.
    throw new TypeError('Expected `schema` to validate synchronously, but it returned a promise')
  }
  const { issues } = result as { readonly issues?: readonly SchemaIssue[] }
  if (!issues) return { state: 'passes', output: (result as { readonly value: unknown }).value }
  return { state: 'fails', error: schemaError(issues) }
}

/**
 * A new value as its schema gives it, or the error VALUE_INVALID; LOAD_FAILED with what was thrown for a schema that
 * cannot be used.
 */
export function checkedValue(
  value: unknown,
  key: string,
  schema: Schema | null,
): { readonly output: unknown } | CacheError {
  if (schema === null) return { output: value }
  try {
    const checked = checkNew(schema, value)
    if (checked.state === 'passes') return checked
    const { error: cause } = checked
    return new CacheError('VALUE_INVALID', `The value of ${quoted(key)} is refused: ${cause.message}`, { key, cause })
  } catch (thrown) {
    return loadFailedError(key, thrown)
  }
}

/**
 * Checks a value that is to be stored: the output, which the schema must leave as it is when it is read.
 * @throws TypeError for a schema that changes its own output; as `checkBy`
 */
function checkNew(schema: Schema, value: unknown): Checked {
  const checked = checkBy(schema, value)
  if (checked.state === 'fails') return checked
  const again = checkBy(schema, checked.output)
  if (again.state === 'passes' && isDeepStrictEqual(again.output, checked.output)) return checked
  throw new TypeError(
    'Expected `schema` to leave its own output as it is, because the output is what is stored and checked when it is read; ' +
      'it transforms or refuses it, so let it accept both forms, or transform the value in the loader',
  )
}

/** The most places that an error names. */
const mostPlaces = 5

/**
 * The error of a value that does not pass. Its message has only places and what the schema expects there, and other
 * processes are not told of the issues: the messages of some libraries quote the value.
 */
function schemaError(issues: readonly SchemaIssue[]): Error {
  const places = [...new Set(issues.map((issue) => placeOf(issue.path ?? []) + expectedBy(issue)))]
  const more = places.length > mostPlaces ? ` and ${places.length - mostPlaces} more` : ''
  const error = new Error(`It does not pass its schema: ${places.slice(0, mostPlaces).join(', ')}${more}`)
  return Object.defineProperties(error, {
    name: { value: 'SchemaError', configurable: true, writable: true },
    issues: { value: issues },
  })
}

/** A place in a value, such as `items[0].price`. */
function placeOf(path: NonNullable<SchemaIssue['path']>): string {
  const keys = path.map((part) => (typeof part === 'object' ? part.key : part))
  const steps = keys.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key).slice(0, 60)}`))
  return steps.length === 0 ? 'the value itself' : steps.join('').replace(/^\./, '')
}

/** What zod, Valibot and ArkType say in an issue that they expect, such as `a number`; it is of the schema alone. */
function expectedBy(issue: SchemaIssue): string {
  const { expected, format } = issue as { readonly expected?: unknown; readonly format?: unknown }
  const said = expected ?? format
  return typeof said === 'string' && said !== '' && said.length <= 60 ? ` (expected ${said})` : ''
}
