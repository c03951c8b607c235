import { describe, expect, test } from 'vitest'
import { CacheError, type Cache, type CacheOptions } from '../../../src/index.ts'
import { settled } from '../../support/fake-clock.ts'
import { answerOf, asked } from '../support/answer.ts'
import { fleet, type Fleet } from '../support/fleet.ts'

const never = (): Promise<never> => new Promise(() => undefined)

interface Case {
  readonly code: string
  readonly options?: CacheOptions
  readonly call: (cache: Cache) => Promise<unknown>
  /** What makes the call fail. */
  readonly harm: (all: Fleet) => unknown
}

const cases: Case[] = [
  { code: 'WAIT_TIMEOUT', options: { waitTimeout: '1s' }, call: load, harm: ({ clock }) => clock.advance(1_000) },
  { code: 'LOAD_TIMEOUT', options: { hardTimeout: '1s' }, call: load, harm: ({ clock }) => clock.advance(1_000) },
  { code: 'CLOSED', call: load, harm: close },
  { code: 'STORE_UNAVAILABLE', call: (cache) => cache.peek('k'), harm: silence },
  { code: 'STORE_UNAVAILABLE', call: (cache) => cache.set('k', 1), harm: silence },
  { code: 'STORE_UNAVAILABLE', call: (cache) => cache.invalidate('k'), harm: silence },
  { code: 'STORE_UNAVAILABLE', call: (cache) => cache.invalidateTags(['t']), harm: silence },
  {
    code: 'VALUE_NOT_SERIALIZABLE',
    options: { unstorable: 'throw' },
    call: (cache) => cache.getOrLoad('k', () => () => 1),
    harm: settled,
  },
  { code: 'LOAD_FAILED', call: (cache) => cache.getOrLoad('k', () => Promise.reject('text' as never)), harm: settled },
]

function close({ a, clock }: Fleet): Promise<void> {
  answerOf(a.close({ timeout: 0 }))
  return clock.advance(1_000)
}

function load(cache: Cache): Promise<unknown> {
  return cache.getOrLoad('k', never)
}

async function silence({ ways, clock }: Fleet): Promise<void> {
  ways.a.mode = 'silent'
  await clock.advance(1_000)
}

describe('the stack of an error of the cache', () => {
  test.for(cases)('leads to its caller: $code of $call', async ({ code, options, call, harm }) => {
    const all = fleet(options)
    // The name is looked for in the stack.
    async function theCaller(): Promise<unknown> {
      return await call(all.a)
    }
    if (harm === silence) all.ways.a.mode = 'silent'
    const answer = await asked(theCaller())
    await harm(all)
    await settled()
    const stack: unknown = expect.stringContaining('theCaller')
    expect(answer).toMatchObject({ state: 'error', error: { name: 'CacheError', code, stack } })
  })

  test('leads to the loader that closes a circle of loads', async () => {
    const { a } = fleet()
    async function theLoader(): Promise<unknown> {
      return await a.getOrLoad('k', never)
    }
    const error: unknown = await a.getOrLoad('k', theLoader).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'CIRCULAR_LOAD' })
    expect((error as Error).stack).toContain('theLoader')
  })

  test('is not touched if a loader threw the error', async () => {
    const { a } = fleet()
    const thrown = new CacheError('OVERLOADED', 'made by the user')
    const stack = thrown.stack
    const given: unknown = await a.getOrLoad('k', () => Promise.reject(thrown)).catch((error: unknown) => error)
    expect(given).toBe(thrown)
    expect(thrown.stack).toBe(stack)
  })
})
