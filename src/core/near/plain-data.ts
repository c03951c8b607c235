import { attempt } from '../errors.ts'

/**
 * Freezes a value deeply.
 * @returns `false` if a part of it could change all the same: a Map, a Date, a Buffer, an instance of a class, or what
 *   cannot be frozen, such as a module
 */
export function deepFreeze(value: unknown): boolean {
  const isFrozen = attempt(() => {
    const objects = objectsOf(value)?.objects
    for (const each of objects ?? []) Object.freeze(each)
    return objects !== undefined
  })
  return isFrozen ?? false
}

/** Whether `copyPlain` gives an equal value: no cycles, and no object in two places. */
export function isPlainData(value: unknown): boolean {
  const found = attempt(() => objectsOf(value)) ?? null
  return found !== null && found.isTree && [...found.objects].every(isCopyable)
}

/** A copy of plain data, faster than decoding its bytes. */
export function copyPlain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  // Cloning an object as a whole and then replacing its objects is faster than copying each property.
  if (Array.isArray(value)) {
    const items: unknown[] = value.slice()
    for (let index = 0; index < items.length; index++) {
      const item = items[index]
      if (typeof item === 'object' && item !== null) items[index] = copyPlain(item)
    }
    return items
  }
  const copy: Record<string, unknown> = { ...value }
  for (const name in copy) {
    const part = copy[name]
    if (typeof part === 'object' && part !== null) copy[name] = copyPlain(part)
  }
  return copy
}

/**
 * The objects and arrays in plain data, and whether each is in one place; `null` if there is anything else in it. Throws
 * what a getter throws.
 */
function objectsOf(value: unknown): { objects: Set<object>; isTree: boolean } | null {
  const objects = new Set<object>()
  let isTree = true
  const rest: unknown[] = [value]
  while (rest.length > 0) {
    const next = rest.pop()
    if (typeof next === 'function') return null
    if (typeof next !== 'object' || next === null) continue
    if (objects.has(next)) {
      isTree = false
      continue
    }
    if (!Array.isArray(next) && !isPlain(next)) return null
    objects.add(next)
    for (const each of Object.values(next)) rest.push(each)
  }
  return { objects, isTree }
}

function isCopyable(object: object): boolean {
  if (Object.getPrototypeOf(object) === null || Object.getOwnPropertySymbols(object).length > 0) return false
  // An array may have names as well, behind its indices.
  return !Array.isArray(object) || (Object.keys(object).at(-1) ?? '-1') === String(object.length - 1)
}

function isPlain(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object)
  // Also true for the plain objects of another realm.
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
