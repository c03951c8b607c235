import { describe, expect, test } from 'vitest'
import { changedParams, changedQuery, isComparable } from '../../../src/http/inputs/changed-values.ts'

describe('the parameters of a path', () => {
  test.for([
    [{}, '/a'],
    [undefined, '/a'],
    [{ id: '7' }, '/items/7'],
    [{ id: '7' }, '/items/7/?page=1'],
    [{ shop: '5', item: '7' }, '/shops/5/items/7'],
    [{ shop: '5', item: '5' }, '/shops/5/items/5'],
    [{ name: 'a b' }, '/names/a%20b'],
    [{ 0: 'a/b' }, '/files/a/b'],
    [{ path: ['a', 'b'] }, '/files/a/b'],
    [{ id: '7', more: undefined }, '/items/7'],
    [{ '*': 'a/b/' }, '/a/b/'],
  ] as const)('are those of the URL: %j of %s', ([params, url]) => {
    expect(changedParams('params', params, url)).toBe(null)
  })

  test.for([
    [{ id: 'ada' }, '/users/me'],
    [{ id: '5' }, '/users/1523'],
    [{ id: 7 }, '/items/7'],
    [{ shop: '7', item: '5' }, '/shops/5/items/7'],
    [{ shop: '7', item: '7' }, '/shops/5/items/7'],
    [{ from: 'a', to: 'b' }, '/a-b'],
    [{ id: '7' }, '/items?id=7'],
    [{ id: '7', owner: 'ada' }, '/items/7'],
  ] as const)('are told where they are not: %j of %s', ([params, url]) => {
    expect(changedParams('params', params, url)).toBe(`params ${JSON.stringify(params)}`)
  })
})

describe('the query', () => {
  test.for([
    [{}, '/a'],
    [undefined, '/a'],
    [{ a: '1' }, '/?a=1'],
    [{ a: '1', b: 'x y' }, '/?b=x+y&a=1'],
    [{ a: ['1', '2'] }, '/?a=1&a=2'],
    [{ a: '2' }, '/?a=1&a=2'],
    [{ a: '' }, '/?a'],
  ] as const)('is that of the URL: %j of %s', ([query, url]) => {
    expect(changedQuery('query', query, url)).toBe(null)
  })

  test.for([
    [{ a: '1', owner: 'ada' }, '/?a=1', [[['owner', 'ada']], []]],
    [{ a: 1 }, '/?a=1', [[['a', 1]], []]],
    [{ a: ['2', '1'] }, '/?a=1&a=2', [[['a', ['2', '1']]], []]],
    [{}, '/?all=1', [[], ['all']]],
    [{ owner: 'ada' }, '/', [[['owner', 'ada']], []]],
  ] as const)('is told where it is not: %j of %s', ([query, url, told]) => {
    expect(changedQuery('query', query, url)).toBe(`query ${JSON.stringify(told)}`)
  })

  test('cannot be compared with a value that JSON cannot hold', () => {
    const circle: Record<string, unknown> = {}
    circle['circle'] = circle
    expect(changedQuery('query', { a: 1n }, '/')).toBe('query [[["a","1"]],[]]')
    expect(isComparable(changedQuery('query', { a: 1n }, '/') ?? '')).toBe(true)
    expect(isComparable(changedQuery('query', { a: 'unknown' }, '/') ?? '')).toBe(true)
    expect(isComparable(changedQuery('query', circle, '/') ?? '')).toBe(false)
    expect(isComparable(changedParams('params', { id: new Map() }, '/') ?? '')).toBe(false)
  })
})
