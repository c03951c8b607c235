import fc from 'fast-check'
import CachePolicy from 'http-cache-semantics'
import { expect, test } from 'vitest'
import { ageAt, initialAgeOf } from '../../../src/http/policy/age.ts'
import { dateText } from '../../../src/http/policy/http-date.ts'
import { lifetimeOf, statusRule } from '../../../src/http/policy/lifetime.ts'
import { responseOf } from '../../../src/http/policy/message.ts'
import { reuse } from '../../../src/http/policy/reuse.ts'
import { staleRules } from '../../../src/http/policy/stale.ts'
import { storable, type StoreRules } from '../../../src/http/policy/storable.ts'
import { selectedBy, varyOf } from '../../../src/http/policy/vary.ts'

/*
 * The rules beside http-cache-semantics, over random exchanges: where they differ, a difference that is listed here has to
 * apply. What we do in each of those cases stands in the tests of the rules.
 */

type Plain = Record<string, string>

interface Exchange {
  readonly method: string
  readonly request: Plain
  readonly status: number
  readonly response: Plain
}

interface Later {
  readonly request: Plain
  /** Milliseconds after the response came. */
  readonly after: number
}

const receivedAt = Date.UTC(2026, 5, 1)
const at = (seconds: number): string => dateText(receivedAt + seconds * 1_000)
const quoted = 'x="a, no-store, b"'
const standard: StoreRules = {
  statuses: statusRule,
  defaultTtl: null,
  authorization: 'explicit',
  cookie: 'always',
  setCookie: 'always',
  honor: true,
}

class Policy extends CachePolicy {
  static clock = receivedAt

  // Which the types do not know.
  now(): number {
    return Policy.clock
  }
}

const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined, freq: 2 })
const seldom = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ arbitrary: fc.constant(undefined), weight: 6 }, { arbitrary: value, weight: 1 })

function plain(fields: Record<string, string | undefined>): Plain {
  return Object.fromEntries(Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined))
}

const cacheControl = (directives: readonly string[]): fc.Arbitrary<string | undefined> =>
  maybe(fc.shuffledSubarray([...directives], { minLength: 1, maxLength: 3 }).map((chosen) => chosen.join(', ')))

const exchanges: fc.Arbitrary<Exchange> = fc.record({
  method: fc.constantFrom('GET', 'GET', 'GET', 'GET', 'GET', 'GET', 'GET', 'HEAD', 'POST'),
  request: fc
    .record({
      'cache-control': seldom(fc.constantFrom('no-store', 'no-cache', 'max-age=0')),
      authorization: seldom(fc.constant('Basic eA==')),
      foo: seldom(fc.constantFrom('1', '2')),
    })
    .map(plain),
  status: fc.constantFrom(200, 200, 200, 200, 200, 200, 204, 206, 299, 301, 302, 304, 404, 410, 416, 500, 503, 599),
  response: fc
    .record({
      'cache-control': cacheControl([
        ...(
          'max-age=0 max-age=60 max-age=3600 s-maxage=0 s-maxage=120 public private no-store no-cache ' +
          'must-revalidate proxy-revalidate immutable must-understand stale-while-revalidate=30 ' +
          'stale-if-error=30 max-age=60s No-Store'
        ).split(' '),
        quoted,
      ]),
      expires: maybe(fc.constantFrom(at(-60), at(90), '0')),
      date: fc.constantFrom(at(0), at(0), at(0), at(0), at(0), at(-30)),
      'last-modified': maybe(fc.constantFrom(at(-600), at(-100 * 86_400))),
      etag: maybe(fc.constant('"a"')),
      age: seldom(fc.constantFrom('0', '40', '5000', 'x')),
      vary: seldom(fc.constantFrom('Foo', '*', 'Foo, *')),
      'set-cookie': seldom(fc.constant('a=b')),
      pragma: seldom(fc.constant('no-cache')),
    })
    .map(plain),
})

const laters: fc.Arbitrary<Later> = fc.record({
  request: fc
    .record({
      'cache-control': cacheControl(
        'max-age=0 max-age=50 max-age=9999 min-fresh=20 max-stale max-stale=45 no-cache no-store max-age=x'.split(' '),
      ),
      pragma: seldom(fc.constantFrom('no-cache', 'x')),
      foo: seldom(fc.constantFrom('1', '2')),
    })
    .map(plain),
  // Never at the very end of a time, where one of the two counts it in and the other out.
  after: fc.constantFrom(0, 500, 10_500, 61_500, 75_500, 121_500, 4_000_500, 90_000_500),
})

interface Reused extends Omit<Exchange, 'method'> {
  readonly later: Later
}

/** Whether it applies to a case. */
type Difference<Case> = (known: Case) => boolean

function says(value: string | undefined, ...directives: string[]): boolean {
  return directives.some((directive) => (value ?? '').split(', ').includes(directive))
}

function repeats(field: string | undefined): boolean {
  const names = (field ?? '').split(', ').map((member) => member.split('=')[0])
  return new Set(names).size < names.length
}

function responseSays({ response }: Pick<Exchange, 'response'>, ...directives: string[]): boolean {
  return says(response['cache-control'], ...directives)
}

function hasValidator({ response }: Pick<Exchange, 'response'>): boolean {
  return 'etag' in response || 'last-modified' in response
}

function acceptsStale({ later: { request } }: Reused): boolean {
  return says(request['cache-control'], 'max-stale', 'max-stale=45')
}

const storeDifferences: readonly Difference<Exchange>[] = [
  // Only what GET asks for is stored.
  ({ method }) => method !== 'GET',
  // A status that nobody knows may be stored if it says for how long (RFC 9111 section 3).
  ({ status }) => [299, 500, 503, 599].includes(status),
  // What varies by anything is never found again.
  ({ response }) => (response['vary'] ?? '').includes('*'),
  // What has to be validated each time is not stored without a validator.
  (exchange) => responseSays(exchange, 'no-cache') && !hasValidator(exchange),
  // Must-understand stands above no-store (RFC 9111 section 5.2.2.3).
  (exchange) => responseSays(exchange, 'must-understand'),
  // Directives are of either case (RFC 9111 section 5.2).
  (exchange) => responseSays(exchange, 'No-Store'),
  // What is quoted is no directive (RFC 9110 section 5.6.4).
  ({ response }) => (response['cache-control'] ?? '').includes(quoted),
  // A directive with several values has none (RFC 9111 section 4.2.1).
  ({ request, response }) =>
    'authorization' in request && repeats(response['cache-control']) && responseSays({ response }, 's-maxage=120'),
  // What is never fresh, may not be served stale and was not said to be asked for again is not stored.
  ({ status, response }) => {
    const known = responseOf(status, response)
    const { whileRevalidate, ifError } = staleRules(known)
    const { ms, from } = lifetimeOf(known, standard, receivedAt)
    const isAsked = hasValidator({ response }) && (from !== 'none' || responseSays({ response }, 'no-cache'))
    return ms === 0 && whileRevalidate === 0 && !ifError && !isAsked && !responseSays({ response }, 'no-cache')
  },
]

const reuseDifferences: readonly Difference<Reused>[] = [
  // A directive with several values has none (RFC 9111 section 4.2.1).
  ({ response, later }) => repeats(response['cache-control']) || repeats(later.request['cache-control']),
  // The time since Date counts as age (RFC 9111 section 4.2.3).
  ({ response }) => response['date'] === at(-30),
  // A max-age that is no number is none (RFC 9111 section 4.2.1).
  (exchange) => responseSays(exchange, 'max-age=60s'),
  // Must-revalidate is about stale responses (RFC 9111 section 5.2.2.2).
  (exchange) => responseSays(exchange, 'must-revalidate'),
  // Proxy-revalidate is about stale responses (RFC 9111 section 5.2.2.8).
  (exchange) => responseSays(exchange, 'proxy-revalidate'),
  // Max-stale does not stand above s-maxage (RFC 9111 section 4.2.4).
  (exchange) => responseSays(exchange, 's-maxage=0', 's-maxage=120') && acceptsStale(exchange),
  // Max-stale does not stand above no-cache (RFC 9111 section 5.2.2.4).
  (exchange) => responseSays(exchange, 'no-cache') && acceptsStale(exchange),
  // Whether what sets a cookie is stored is decided before.
  ({ response }) => 'set-cookie' in response,
  // Pragma means nothing in a response (RFC 9111 section 5.4).
  ({ response }) => response['pragma'] === 'no-cache' && !('cache-control' in response),
  // Pragma means nothing beside Cache-Control (RFC 9111 section 5.4).
  ({ later: { request } }) => 'cache-control' in request && request['pragma'] === 'no-cache',
  // Immutable says nothing of how long (RFC 8246 section 2).
  (exchange) => responseSays(exchange, 'immutable') && !responseSays(exchange, 'max-age=60', 'max-age=3600'),
  // A guess is a day at most.
  ({ response }) => response['last-modified'] === at(-100 * 86_400),
  // Max-age=0 asks to validate, however young the response is.
  ({ later: { request } }) => says(request['cache-control'], 'max-age=0', 'max-age=x'),
]

function isDifferent<Case>(differences: readonly Difference<Case>[], known: Case): boolean {
  return differences.some((applies) => applies(known))
}

interface Verdicts {
  readonly ours: boolean
  readonly theirs: boolean
}

function stored({ method, request, status, response }: Exchange): Verdicts {
  Policy.clock = receivedAt
  return {
    ours: storable({ method, fields: request }, responseOf(status, response), standard, receivedAt).store,
    theirs: new Policy({ method, headers: request }, { status, headers: response }).storable(),
  }
}

function reused({ request, status, response, later }: Reused): Verdicts {
  Policy.clock = receivedAt
  const policy = new Policy({ method: 'GET', headers: request }, { status, headers: response })
  Policy.clock = receivedAt + later.after
  const theirs = policy.satisfiesWithoutRevalidation({ method: 'GET', headers: later.request })
  return { ours: isServed({ request, status, response, later }), theirs }
}

function isServed({ request, status, response, later }: Reused): boolean {
  const known = responseOf(status, response)
  const names = varyOf(response)
  if (names === '*' || selectedBy(names, request) !== selectedBy(names, later.request)) return false
  const initialAge = initialAgeOf(known, { requestedAt: receivedAt, receivedAt })
  const age = ageAt(receivedAt + later.after, initialAge, receivedAt)
  const lifetime = lifetimeOf(known, standard, receivedAt).ms
  const { use } = reuse(
    { method: 'GET', fields: later.request },
    { ...staleRules(known), age, lifetime },
    { honor: true },
  )
  return use === 'fresh' || use === 'stale'
}

test('what is stored is what http-cache-semantics stores, but for the listed differences', () => {
  const agreed = { stored: 0, refused: 0 }
  fc.assert(
    fc.property(exchanges, (exchange) => {
      const { ours, theirs } = stored(exchange)
      if (isDifferent(storeDifferences, exchange)) return
      expect(ours).toBe(theirs)
      agreed[ours ? 'stored' : 'refused']++
    }),
    { numRuns: 6_000 },
  )
  expect(Math.min(agreed.stored, agreed.refused)).toBeGreaterThan(200)
})

test('what is reused without validation is what http-cache-semantics reuses, but for the listed differences', () => {
  const agreed = { served: 0, refused: 0 }
  fc.assert(
    fc.property(exchanges, laters, ({ request, status, response }, later) => {
      const exchange = { method: 'GET', request, status, response, later }
      const isStored = stored(exchange)
      if (!isStored.ours || !isStored.theirs || isDifferent(reuseDifferences, exchange)) return
      const { ours, theirs } = reused(exchange)
      expect(ours).toBe(theirs)
      agreed[ours ? 'served' : 'refused']++
    }),
    { numRuns: 15_000 },
  )
  expect(Math.min(agreed.served, agreed.refused)).toBeGreaterThan(200)
})
