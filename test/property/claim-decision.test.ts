import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { decideClaim, type ClaimRecord } from '../../src/core/contract/claim-decision.ts'
import { redisStore } from '../../src/redis/index.ts'
import type { Store } from '../../src/index.ts'
import { runs } from './runs.ts'

const long = 60_000
const tokens = ['one', 'two', 'three'].map((token) => token.padEnd(16, '-'))
const token = fc.constantFrom(...tokens)

/** What a key holds. */
type Held = typeof keys extends fc.Arbitrary<infer Each> ? Each : never

/** What a key can hold: a value that is fresh, stale, or stale by a soft invalidation, and the lease or the outcome of a load. */
const keys = fc.record({
  value: fc.option(fc.record({ token, is: fc.constantFrom('fresh', 'stale', 'softened') })),
  load: fc.option(fc.record({ token, ends: fc.constantFrom('held', 'failed', 'pass'), isOver: fc.boolean() })),
})

const requests = fc.record({
  token,
  unwanted: fc.option(token, { nil: undefined }),
  awaited: fc.option(token, { nil: undefined }),
})

let client: Redis
let store: Store

beforeAll(() => {
  client = new Redis(inject('redisUrl'))
  store = redisStore(client, { wakeUp: 'poll' })
  store.open()
})

afterAll(async () => {
  await store.close()
  await client.quit()
})

/** Has the server hold that of a key. */
async function hold(key: string, { value, load }: Held): Promise<ClaimRecord> {
  if (value !== null) {
    const written = { payload: Buffer.from('v'), loadTime: 0, inlineLimit: 0, grace: long }
    await store.set(key, value.token, { ...written, ttl: value.is === 'stale' ? 1 : long })
    if (value.is === 'softened') await store.invalidate(key, 'soft')
  }
  if (load !== null) {
    // A fresh value is to be replaced, or there would be no lease.
    const unwanted = value?.token
    const claim = await store.claim({ key, token: load.token, leaseTtl: long, unwanted })
    if (claim.state !== 'lease') throw new Error(`Expected a lease, got ${claim.state}`)
    const keep = load.isOver ? 0 : long
    if (load.ends === 'failed') await store.fail(claim.lease, { code: 'LOAD_FAILED', message: '', cause: null }, keep)
    if (load.ends === 'pass') await store.pass(claim.lease, keep)
  }
  // What lives for a millisecond is over by then, by the clock of the server.
  const [seconds = 0, micros = 0] = (await client.time()).map(Number)
  const start = seconds * 1_000 + micros / 1_000
  for (let now = start; now < start + 3;) {
    const [later = 0, rest = 0] = (await client.time()).map(Number)
    now = later * 1_000 + rest / 1_000
  }
  const held = load?.ends === 'held' ? load : undefined
  const rest = load !== null && load.ends !== 'held' ? load : undefined
  return {
    value: value === null ? undefined : recorded(value),
    held: held === undefined ? undefined : { token: held.token, until: 1 },
    rest: rest === undefined ? undefined : { token: rest.token, until: rest.isOver ? -1 : 1 },
  }
}

/** The value in the record; the clock of one that was softened says nothing. */
function recorded({ token, is }: NonNullable<Held['value']>): ClaimRecord['value'] {
  return { token, freshUntil: is === 'stale' ? -1 : 1, outdated: is === 'softened' }
}

const states = { fresh: 'fresh', wait: 'wait', lease: 'lease', again: 'lease' } as const

test('claim.lua decides as decideClaim does', async () => {
  const property = fc.asyncProperty(keys, requests, async (held, request) => {
    const key = `herdless:claim-decision-${randomBytes(8).toString('hex')}`
    const decision = decideClaim(await hold(key, held), request, 0)
    const claim = await store.claim({ ...request, key, leaseTtl: long })
    const expected = decision === 'rest' ? held.load?.ends : states[decision]
    expect(claim.state).toBe(expected)
    if (claim.state === 'wait') claim.leave()
    await client.del(`{${key}}`, `{${key}}:lease`)
  })
  await fc.assert(property, { numRuns: runs(400) })
})
