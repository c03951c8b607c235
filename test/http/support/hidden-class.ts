import { setFlagsFromString } from 'node:v8'
import { runInThisContext } from 'node:vm'

/** Whether V8 keeps two objects in one shape, so that code which knows one of them is as fast with the other. */
export function haveOneHiddenClass(one: object, other: object): boolean {
  return askV8('(one, other) => %HaveSameMap(one, other)', one, other)
}

/** Whether V8 keeps the properties of an object in fields, not in a hash table. */
export function isFast(object: object): boolean {
  return askV8('(object) => %HasFastProperties(object)', object)
}

function askV8(question: string, ...about: object[]): boolean {
  setFlagsFromString('--allow-natives-syntax')
  try {
    return (runInThisContext(question) as (...about: object[]) => boolean)(...about)
  } finally {
    setFlagsFromString('--no-allow-natives-syntax')
  }
}
