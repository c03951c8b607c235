import { describe, expect, test } from 'vitest'
import type { Cache, CacheEvents } from '../../../src/index.ts'
import { settled } from '../../support/fake-clock.ts'
import { answerOf } from '../support/answer.ts'
import { fleet } from '../support/fleet.ts'
import { loading, Source } from '../support/source.ts'

/** What comes with each event of a name. */
function heard<Name extends keyof CacheEvents>(cache: Cache, name: Name): CacheEvents[Name][] {
  const events: CacheEvents[Name][] = []
  cache.on(name, (event) => events.push(event))
  return events
}

describe('a cache tells how long it took', () => {
  test('until each caller that had missed was answered', async () => {
    const { a, clock } = fleet()
    const answers = heard(a, 'answer')
    const source = new Source<string>()
    answerOf(a.getOrLoad('k', source.loader))
    await clock.advance(100)
    answerOf(a.getOrLoad('k', source.loader))
    await clock.advance(200)
    await source.resolve(0, 'v')
    await a.getOrLoad('k', source.loader)
    expect(answers).toEqual([
      { key: 'k', duration: 300 },
      { key: 'k', duration: 200 },
    ])
  })

  test('for no answer that was there at once, whichever way it came', async () => {
    const { a, clock } = fleet({ ttl: '1s', grace: '1m' })
    const answers = heard(a, 'answer')
    await a.set('k', 'v')
    await a.getOrLoad('k', () => 'w')
    await a.getOrLoad('k', () => 'w', { signal: new AbortController().signal })
    await clock.advance(2_000)
    await a.getOrLoad('k', () => 'w')
    expect(answers).toEqual([])
  })

  test('until a caller that had missed was given an error, its own timeout too', async () => {
    const { a, clock } = fleet({ waitTimeout: '1s', leaseTtl: '30s' })
    const answers = heard(a, 'answer')
    const answer = answerOf(a.getOrLoad('k', new Source().loader))
    await clock.advance(5_000)
    expect(answer).toMatchObject({ state: 'error', error: { code: 'WAIT_TIMEOUT' } })
    expect(answers).toEqual([{ key: 'k', duration: 1_000 }])
  })

  test('until the load of another process, which was waited for, had ended: once a process', async () => {
    const { a, b, clock } = fleet()
    const [here, there] = [heard(a, 'waited'), heard(b, 'waited')]
    const source = new Source<string>()
    answerOf(a.getOrLoad('k', source.loader))
    await clock.advance(40)
    answerOf(b.getOrLoad('k', source.loader))
    answerOf(b.getOrLoad('k', source.loader))
    await clock.advance(5_000)
    await source.resolve(0, 'v')
    expect({ here, there }).toEqual({ here: [], there: [{ key: 'k', duration: 5_000 }] })
  })

  test('until the lease came to who had waited, and not until its own load was over', async () => {
    const { a, b, clock } = fleet()
    const waited = heard(b, 'waited')
    const { source } = await loading(a)
    answerOf(b.getOrLoad('k', source.loader))
    await clock.advance(300)
    void a.close({ timeout: 0 })
    await clock.advance(700)
    expect(source.runs).toHaveLength(2)
    await source.resolve(1, 'v')
    expect(waited).toEqual([{ key: 'k', duration: 300 }])
  })

  test('until a load had failed, in the process that loads and in the one that waits', async () => {
    const { a, b, clock } = fleet()
    const [here, there] = [heard(a, 'failure'), heard(b, 'failure')]
    const source = new Source<string>()
    answerOf(a.getOrLoad('k', source.loader))
    await clock.advance(100)
    answerOf(b.getOrLoad('k', source.loader))
    await clock.advance(400)
    await source.reject(0, new Error('down'))
    expect([here, there]).toMatchObject([[{ key: 'k', duration: 500 }], [{ key: 'k', duration: 400 }]])
  })
})

describe('a cache tells', () => {
  test('of a load that failed without a lease', async () => {
    const { a, ways, clock } = fleet({ commandTimeout: '100ms' })
    const failures = heard(a, 'failure')
    ways.a.mode = 'silent'
    const source = new Source<string>()
    answerOf(a.getOrLoad('k', source.loader))
    await clock.advance(150)
    await source.reject(0, new Error('down'))
    expect(failures).toMatchObject([{ key: 'k', error: { code: 'LOAD_FAILED' }, duration: 50 }])
  })

  test('of a value that is refreshed before its time, and of no refresh that is under way already', async () => {
    const { a, clock } = fleet({ ttl: '10s', refreshAhead: 0.5 })
    const ahead = heard(a, 'refreshAhead')
    await a.getOrLoad('k', () => 'v')
    await clock.advance(4_000)
    await a.getOrLoad('k', () => 'v')
    expect(ahead).toEqual([])
    await clock.advance(2_000)
    const source = new Source<string>()
    await a.getOrLoad('k', source.loader)
    await a.getOrLoad('k', source.loader)
    await settled()
    expect(ahead).toEqual([{ key: 'k' }])
    expect(source.runs).toHaveLength(1)
  })
})
