import { expect, test } from 'vitest'
import { invalidatedUris, invalidates } from '../../../src/http/policy/invalidation.ts'

test.for([
  ['POST', 200, true],
  ['PUT', 201, true],
  ['DELETE', 204, true],
  ['PATCH', 303, true],
  ['M-SEARCH', 200, true],
  ['get', 200, true],
  ['__proto__', 200, true],
  ['POST', 399, true],
  ['POST', 400, false],
  ['POST', 500, false],
  ['POST', 100, false],
  ['GET', 200, false],
  ['HEAD', 200, false],
  ['OPTIONS', 200, false],
  ['TRACE', 200, false],
  ['PROPFIND', 207, false],
  ['SEARCH', 200, false],
] as const)('%s answered with %d makes void what is stored: %s', ([method, status, expected]) => {
  expect(invalidates(method, status)).toBe(expected)
})

const target = 'https://a.example/shop/item?id=1'

test.for([
  ['nothing', null, null, []],
  ['a path', '/new', null, ['https://a.example/new']],
  ['a relative path', 'new?x=1', null, ['https://a.example/shop/new?x=1']],
  ['the same', target, '', []],
  ['both', '/new', '/old', ['https://a.example/new', 'https://a.example/old']],
  ['both the same', '/new', 'https://a.example/new', ['https://a.example/new']],
  ['a part of a document', '/new#part', null, ['https://a.example/new']],
  ['a password', 'https://u:p@a.example/new', null, ['https://a.example/new']],
  ['the port that is meant anyway', 'https://A.example:443/new', null, ['https://a.example/new']],
  ['another host', 'https://b.example/new', '//c.example/new', []],
  ['another port', 'https://a.example:8443/new', null, []],
  ['another scheme', 'http://a.example/new', null, []],
  ['what is no URI', 'https://', 'http://[', []],
  ['what has no origin', 'data:text/plain,x', 'javascript:1', []],
] as const)(
  'an answer that names %s makes void what was asked for, and of the same origin',
  ([, location, contentLocation, more]) => {
    expect(invalidatedUris(target, location, contentLocation)).toEqual([target, ...more])
  },
)

test('what is void is spelled as the target is, whose port may be the one that is meant anyway', () => {
  const spelled = 'http://a.example:80/new'
  for (const location of ['/new', 'http://a.example/new', spelled]) {
    expect(invalidatedUris('http://a.example:80/', location, null)).toEqual(['http://a.example:80/', spelled])
  }
})

test('of a target that is no URI only itself is void', () => {
  expect(invalidatedUris('/shop', '/new', 'https://a.example/new')).toEqual(['/shop'])
  expect(invalidatedUris('data:,x', 'data:,y', null)).toEqual(['data:,x'])
})
