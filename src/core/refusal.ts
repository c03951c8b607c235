import { quoted } from './errors.ts'

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
export function described(value: unknown): string {
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
