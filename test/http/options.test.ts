import { expect, test } from 'vitest'
import { cacheResponses } from '../../src/express/index.ts'
import { cacheResponses as ofFetch } from '../../src/fetch/index.ts'
import { createCache, memoryStore } from '../../src/index.ts'

const cache = createCache({ store: memoryStore() })

const misuse: Record<string, readonly [options: object, message: string]> = {
  'an unknown option': [{ tll: 1 }, '`tll` of cacheResponses'],
  'a ttl that is no duration': [{ ttl: '5 minutes' }, 'Expected `ttl` to be'],
  'a ttl below 0': [{ ttl: -1 }, '`ttl`'],
  'a ttl that is not a number': [{ ttl: Number.NaN }, '`ttl`'],
  'a grace that is no duration': [{ grace: true }, 'Expected `grace` to be'],
  'a staleIfError that is no duration': [{ staleIfError: {} }, 'Expected `staleIfError` to be'],
  'a key that is no function': [
    { key: '/path' },
    'Expected `key` to be a function of the request, got "/path" (string)',
  ],
  'a skip that is no function': [{ skip: true }, 'Expected `skip` to be a function of the request, got'],
  'a vary that is no array': [{ vary: 'Accept' }, 'Expected `vary` to be an array of strings, got "Accept" (string)'],
  'a vary of what is no name': [
    { vary: ['Accept', 'X Y'] },
    'Expected `vary` to be names of header fields, got "X Y" (string)',
  ],
  'a vary of everything': [{ vary: ['*'] }, 'Expected `vary` to be names of header fields, got "*" (string)'],
  'an unknown rule for what is undeclared': [{ undeclared: 'keep' }, '`undeclared`'],
  'a method that is never cached': [{ methods: ['POST'] }, 'Expected `methods` to be some of GET, HEAD, got'],
  'no method': [{ methods: [] }, 'Expected `methods` to be some of GET, HEAD, got'],
  'a status that is none': [
    { statuses: [99] },
    "Expected `statuses` to be 'standard' or an array of statuses from 200 to 599 without 206 and 304, got",
  ],
  'the status of a part': [{ statuses: [200, 206] }, 'without 206 and 304, got'],
  'the status of what is not modified': [{ statuses: [304] }, 'without 206 and 304, got'],
  'statuses that are no list': [{ statuses: 200 }, 'got 200 (number)'],
  'an unknown name of statuses': [{ statuses: 'all' }, 'Expected `statuses` to be'],
  'tags that are no list': [{ tags: 'a' }, '`tags`'],
  'a tag that is none': [{ tags: [''] }, 'Expected a tag to be a well-formed string'],
  'a maxBody below 0': [{ maxBody: -1 }, '`maxBody`'],
  'a maxBody with a unit': [{ maxBody: '1mb' }, '`maxBody`'],
  'a part of a byte': [{ maxBody: 1.5 }, '`maxBody`'],
  'a word for yes': [{ honorRequestDirectives: 'yes' }, '`honorRequestDirectives`'],
  'an unknown rule for cookies': [{ cookies: true }, '`cookies`'],
  'an unknown rule for authorization': [{ authorization: 'show' }, '`authorization`'],
  'an ignoreQuery that is no list': [
    { ignoreQuery: 'utm' },
    '`ignoreQuery` to be an array of strings, got "utm" (string)',
  ],
  'an allowQuery of numbers': [{ allowQuery: [1] }, '`allowQuery` to be an array of strings, got'],
  'two rules for the query': [{ ignoreQuery: ['a'], allowQuery: ['b'] }, 'one of `ignoreQuery` and `allowQuery`'],
  'a passFor of 0': [{ passFor: 0 }, '`passFor`'],
  'room for nobody': [{ maxWaiters: 0 }, 'Expected `maxWaiters` to be a whole number of at least 1, got 0 (number)'],
  'a source that the cache does not have': [
    { source: 'pg' },
    'Expected `source` to be one of the option `sources`, which has none, got "pg" (string)',
  ],
  'a waitTimeout without end': [{ waitTimeout: Infinity }, '`waitTimeout`'],
}

test.for(Object.keys(misuse))('%s is a TypeError at once', (name) => {
  const [options, message] = misuse[name] ?? [{}, '']
  expect(() => cacheResponses(cache, options)).toThrow(TypeError)
  expect(() => cacheResponses(cache, options)).toThrow(message)
})

test.for([undefined, null, 'cache', {}, memoryStore()])('%s is no cache', (value) => {
  expect(() => cacheResponses(value as never)).toThrow(TypeError)
  expect(() => cacheResponses(value as never)).toThrow('Expected a cache made by createCache(), got')
})

test('options that are no object are a TypeError', () => {
  for (const options of [null, 5, 'ttl', [], new Map([['ttl', 5]]), () => 5]) {
    for (const door of [cacheResponses, ofFetch]) {
      expect(() => door(cache, options as never)).toThrow(TypeError)
      expect(() => door(cache, options as never)).toThrow('cacheResponses')
    }
  }
})

test('what is undefined is as if it was not there', () => {
  const options = Object.fromEntries(
    Object.values(misuse)
      .flatMap(([each]) => Object.keys(each))
      .map((name) => [name, undefined]),
  )
  delete options['tll']
  expect(() => cacheResponses(cache, options)).not.toThrow()
})
