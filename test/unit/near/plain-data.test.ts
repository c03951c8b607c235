import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { copyPlain, deepFreeze, isPlainData } from '../../../src/core/near/plain-data.ts'

describe('a copy of plain data', () => {
  test('is equal, and shares no object', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const copy = copyPlain(value)
        expect(isPlainData(value)).toBe(true)
        expect(copy).toEqual(value)
        const own = objectsOf(value)
        for (const object of objectsOf(copy)) expect(own.has(object)).toBe(false)
      }),
    )
  })

  test('of data with holes, undefined or the key __proto__ has them, too', () => {
    const value = JSON.parse('{"__proto__": {"a": [1]}, "b": null}') as Record<string, unknown>
    const copy = copyPlain(value) as Record<string, unknown>
    expect(JSON.stringify(copy)).toBe(JSON.stringify(value))
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
    expect(copyPlain({ a: undefined })).toStrictEqual({ a: undefined })
    // oxlint-disable-next-line no-sparse-arrays
    expect([[, 1], []].every(isPlainData)).toBe(true)
  })
})

test('objects without a prototype, with symbols as keys, and arrays with names are frozen but not copied', () => {
  for (const value of [Object.create(null) as object, { [Symbol('key')]: {} }, 'abc'.match(/b/u), named([])]) {
    expect(isPlainData(value)).toBe(false)
    expect(deepFreeze(value)).toBe(true)
  }
})

test('cycles, and an object in two places, are frozen but not copied', () => {
  const cycle: { self?: object } = {}
  cycle.self = cycle
  const twice = {}
  for (const value of [cycle, { a: twice, b: [twice] }]) {
    expect(isPlainData(value)).toBe(false)
    expect(deepFreeze(value)).toBe(true)
  }
})

test('dates, maps, buffers and instances are no plain data', () => {
  class Point {}
  for (const value of [new Date(0), new Map(), Buffer.alloc(1), new Point(), () => 1, /x/u]) {
    expect(isPlainData({ a: [value] })).toBe(false)
    expect(deepFreeze({ a: [value] })).toBe(false)
  }
})

function named(items: unknown[]): object {
  return Object.assign(items, { name: 'v' })
}

function objectsOf(value: unknown, found = new Set<object>()): Set<object> {
  if (typeof value !== 'object' || value === null) return found
  found.add(value)
  for (const each of Object.values(value)) objectsOf(each, found)
  return found
}
