/**
 * Freezes a value with all that it holds.
 * @returns `false`, and freezes nothing, if something in it could be changed all the same: a Map, a Date, a Buffer, an
 *   instance of a class
 */
export function frozen(value: unknown): boolean {
  const found = new Set<object>()
  const rest: unknown[] = [value]
  while (rest.length > 0) {
    const next = rest.pop()
    if (typeof next === 'function') return false
    if (typeof next !== 'object' || next === null || found.has(next)) continue
    if (!Array.isArray(next) && !isPlain(next)) return false
    found.add(next)
    for (const each of Object.values(next)) rest.push(each)
  }
  for (const each of found) Object.freeze(each)
  return true
}

function isPlain(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object)
  // That of another realm, too.
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
