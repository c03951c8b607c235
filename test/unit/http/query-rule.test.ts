import { describe, expect, test } from 'vitest'
import { queryRule, withoutIgnored } from '../../../src/http/options/query-rule.ts'

describe('what is left out', () => {
  const key = (target: string, ...rule: Parameters<typeof queryRule>): string =>
    withoutIgnored(target, queryRule(...rule))

  test.each([
    ['/?a=1&utm=2', '/?a=1'],
    ['/?utm=1', '/'],
    ['/?%75tm=1&a=%31', '/?a=%31'],
    ['/?fb+clid=1&fb%20clid=2', '/'],
    ['/?utm=%zz&utm=a;b', '/?utm=a;b'],
    ['/?utm[a]=1', '/?utm[a]=1'],
    ['/?utm=1#&id=7', '/?utm=1#&id=7'],
    ['/a;id=1?utm=1', '/a;id=1?utm=1'],
  ])('ignoreQuery: of %s is asked for %s', (target, rest) => {
    expect(key(target, ['utm', 'fb clid'], undefined)).toBe(rest)
  })

  test.each([
    ['/?id=1&b=2', '/?id=1'],
    ['/?b[id]=1&c.id=2', '/'],
    ['/?id[]=1&id%5B$gt%5D=2&id.x=3&b=4', '/?id[]=1&id%5B$gt%5D=2&id.x=3'],
    ['/?[id]=1&b=2', '/?[id]=1'],
    ['/?b=1;id=2', '/?b=1;id=2'],
  ])('allowQuery: of %s is asked for %s', (target, rest) => {
    expect(key(target, undefined, ['id'])).toBe(rest)
  })

  test('is nothing of a query with more than 100 parameters, because one that is left out might hide another', () => {
    const many = (count: number): string => `/?${'utm=1&'.repeat(count - 1)}a=1`
    expect(key(many(100), ['utm'], undefined)).toBe('/?a=1')
    expect(key(many(101), ['utm'], undefined)).toBe(many(101))
  })

  test('is all, with ignoreQuery: true', () => {
    expect(key('/?a=1&b[]=2', true, undefined)).toBe('/')
  })
})
