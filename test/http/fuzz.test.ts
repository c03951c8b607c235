import { Agent, type RequestListener } from 'node:http'
import fc from 'fast-check'
import CachePolicy from 'http-cache-semantics'
import { expect, test } from 'vitest'
import { cachedServer } from '../../src/express/index.ts'
import { memoryStore } from '../../src/index.ts'
import { siteOn } from './support/site.ts'

interface Asked {
  readonly headers: Record<string, string>
  readonly method: 'GET' | 'HEAD'
}

interface Said {
  readonly status: number
  readonly headers: Record<string, string | string[]>
}

// What the two libraries read in different ways is compared in test/unit/http/oracle.test.ts.
const directive = fc.constantFrom(
  ...'public private no-store no-cache must-revalidate no-transform private="x-a" unknown=1 max-age=0 s-maxage=0'.split(
    ' ',
  ),
  ...'max-age=60 max-age=60 max-age=60 max-age=60 s-maxage=60 stale-while-revalidate=60 stale-if-error=60'.split(' '),
)
const cacheControl = fc.array(directive, { minLength: 1, maxLength: 3 }).map((directives) => directives.join(', '))
const hour = 3_600_000
const date = fc.constantFrom(-24 * hour, -hour, -1_000, 0, hour).map((ms) => new Date(Date.now() + ms).toUTCString())

/** Against how many that a field is absent. */
const often = new Map([
  ['cache-control', 1],
  ['vary', 2],
  ['x-a', 1],
])

/** A header of some of these fields, few of them. */
function some<Value>(fields: Record<string, fc.Arbitrary<Value>>): fc.Arbitrary<Record<string, Value>> {
  const seldom = Object.entries(fields).map(([name, value]) => {
    const absent = { arbitrary: fc.constant(undefined), weight: often.get(name) ?? 12 }
    return [name, fc.oneof(absent, { arbitrary: value, weight: 1 })] as const
  })
  const isThere = (entry: [string, Value | undefined]): entry is [string, Value] => entry[1] !== undefined
  return fc.record(Object.fromEntries(seldom)).map((all) => Object.fromEntries(Object.entries(all).filter(isThere)))
}

const answer: fc.Arbitrary<Said> = fc.record({
  status: fc.constantFrom(
    200,
    200,
    200,
    200,
    203,
    204,
    206,
    301,
    302,
    307,
    308,
    400,
    404,
    410,
    412,
    416,
    451,
    500,
    503,
  ),
  headers: some<string | string[]>({
    'cache-control': cacheControl,
    'cdn-cache-control': fc.constantFrom('max-age=60', 'no-store', 'private', 'max-age=0', 'a b'),
    expires: fc.oneof(date, fc.constantFrom('0', 'never')),
    date,
    age: fc.constantFrom('0', '10', '100'),
    vary: fc.constantFrom('x-a', 'x-a', 'X-A, x-b', '*', 'x-a, *', 'x-b', ''),
    etag: fc.constantFrom('"one"', 'W/"one"'),
    'last-modified': date,
    'set-cookie': fc.constant(['id=1', 'b=2']),
  }),
})

const question: fc.Arbitrary<Asked> = fc.record({
  method: fc.constantFrom('GET', 'GET', 'GET', 'HEAD'),
  headers: some({
    'x-a': fc.constantFrom('1', '1', '2', ''),
    'x-b': fc.constantFrom('1', '2'),
    cookie: fc.constant('id=1'),
    authorization: fc.constant('Bearer 1'),
    'cache-control': fc.constantFrom(
      'no-cache',
      'no-store',
      'max-age=0',
      'max-age=10',
      'min-fresh=100',
      'only-if-cached',
    ),
    range: fc.constantFrom('bytes=0-1', 'bytes=-1', 'bytes=9-'),
    'if-none-match': fc.constantFrom('"one"', '*'),
    'if-modified-since': date,
  }),
})

test.for([false, true])(
  'nobody is given an answer that RFC 9111 forbids, with request directives honored: %s',
  { timeout: 400_000 },
  async (honored) => {
    let script: readonly Said[] = []
    let runs: Asked[] = []
    const options = { ttl: 0, honorRequestDirectives: honored, undeclared: 'ignore' } as const
    const listener: RequestListener = (request, response) => {
      const { status, headers } = script[runs.length] ?? { status: 200, headers: {} }
      runs.push({ method: request.method as 'GET', headers: request.headers as Record<string, string> })
      response.writeHead(status, { ...headers, 'x-run': String(runs.length - 1) })
      response.end(status === 204 ? undefined : `body of ${runs.length - 1}`)
    }
    await using site = await siteOn(async (cache) => cachedServer(listener, cache, options), {
      cache: { store: memoryStore(), near: {} },
    })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    let address = 0
    const shared: string[] = []
    try {
      await fc.assert(
        fc.asyncProperty(
          fc.array(answer, { minLength: 4, maxLength: 4 }),
          fc.array(question, { minLength: 2, maxLength: 4 }),
          async (answers, questions) => {
            script = answers
            runs = []
            const path = `/${address++}`
            const firstAsked = new Map<number, Asked>()
            for (const asked of questions) {
              const before = runs.length
              const told = await site.ask(path, { ...asked, agent })
              const run = Number(told.headers['x-run'] ?? -1)
              if (run === before) {
                firstAsked.set(run, asked)
                continue
              }
              // Told by the cache alone: that there is nothing, or that a part cannot be had.
              if (run === -1 && (told.status === 416 || told.status === 504)) continue
              // A refresh behind a stale answer is nobody's own: it is asked for as its handler was.
              const by = firstAsked.get(run) ?? runs[run]
              const said = answers[run]
              if (by === undefined || said === undefined) throw new Error(`Nobody has asked for run ${run}`)
              shared.push(said.headers['vary'] === undefined ? 'plain' : 'varies')
              const about = { isValidated: runs.length > before, honored, status: told.cache }
              const why = forbids(by, said, asked, about)
              const { status, headers } = told
              if (why !== '') throw new Error(`${why}: ${JSON.stringify({ by, said, asked, status, headers })}`)
            }
          },
        ),
        { numRuns: 1_000 },
      )
    } finally {
      agent.destroy()
    }
    // It has been about something.
    expect(shared.filter((each) => each === 'plain').length).toBeGreaterThan(20)
    expect(shared.filter((each) => each === 'varies').length).toBeGreaterThan(0)
  },
)

/**
 * Why an answer to one request must not have been given to another; `''` if it may.
 * @param about.isValidated whether the handler was asked, and has said that it is right or failed
 */
function forbids(
  by: Asked,
  said: Said,
  to: Asked,
  { isValidated, honored, status: told }: { isValidated: boolean; honored: boolean; status: string },
): string {
  const { headers, status } = said
  const control = String(headers['cache-control'] ?? '').toLowerCase()
  const targeted = headers['cdn-cache-control']
  if (headers['set-cookie'] !== undefined) return 'a cookie'
  if (status === 206) return 'a part'
  if (status >= 500) return 'an error'
  for (const { headers: fields } of [by, to]) if ('cookie' in fields || 'authorization' in fields) return 'personal'
  for (const name of String(headers['vary'] ?? '')
    .toLowerCase()
    .split(/, */)) {
    if (name === '*') return 'it varies by anything'
    if (name !== '' && by.headers[name] !== to.headers[name]) return `it differs by ${name}`
  }
  if (targeted !== undefined && /^(no-store|private|max-age=0)$/.test(String(targeted)) && !isValidated)
    return 'for CDNs'
  // What the other library does not know.
  if (targeted === 'max-age=60') return ''
  const without = (fields: Record<string, string>): Record<string, string> => {
    const own = Object.fromEntries(Object.entries(fields).filter(([name]) => !/^(if-|range|vary)/.test(name)))
    if (!honored) delete own['cache-control']
    return { ...own, host: 'site' }
  }
  const first = { url: '/', method: 'GET', headers: without(by.headers) }
  // It takes must-revalidate for no-cache.
  const own = { ...headers, 'cache-control': control.replaceAll('must-revalidate', 'unknown') } as Record<
    string,
    string
  >
  const policy = new CachePolicy(first, { status, headers: own }, { shared: true, cacheHeuristic: 0 })
  if (!policy.storable()) return 'it is not to be stored'
  if (isValidated) return ''
  const next = { url: '/', method: 'GET', headers: without(to.headers) }
  if (policy.satisfiesWithoutRevalidation(next)) return ''
  // It has failed a moment ago: what is fresh is served against the request's wish, which is no more (section 5.2.1.4).
  const { 'cache-control': _, ...unasked } = next.headers
  const isFresh = policy.satisfiesWithoutRevalidation({ ...next, headers: { ...unasked, host: 'site' } })
  if (told.includes('detail=error') && isFresh) return ''
  // RFC 9111 section 4.2.4: what may be served stale.
  if (/must-revalidate|s-maxage|no-cache/.test(control)) return 'it is not fresh, and never served stale'
  // It has failed a moment ago, and is left alone.
  if (told.includes('detail=error') && control.includes('stale-if-error')) return ''
  return control.includes('stale-while-revalidate') ? '' : 'it is not fresh'
}
