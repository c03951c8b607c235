import { describe, expect, test } from 'vitest'
import { CacheError } from '../../../src/core/errors.ts'
import { Events, type CacheEvents } from '../../../src/core/observe/events.ts'
import { GuardedStore } from '../../../src/core/outage/guarded-store.ts'
import { memoryStore } from '../../../src/index.ts'
import { FakeClock, settled } from '../../support/fake-clock.ts'
import { answerOf } from '../support/answer.ts'
import { UnreliableStore } from '../support/unreliable-store.ts'

const timeout = 500

function guarded() {
  const clock = new FakeClock()
  const backing = memoryStore({ clock })
  const store = new UnreliableStore(backing)
  const events = new Events()
  const heard: [keyof CacheEvents, unknown][] = []
  for (const name of ['degraded', 'recovered'] as const) events.on(name, (event) => heard.push([name, event]))
  return {
    clock,
    backing,
    store,
    heard,
    guard: new GuardedStore(store, { timeout, keepsInvalidations: false, clock, events }),
  }
}

function claimOf(key: string, token: string) {
  return { key, token: token.padEnd(16, '-'), leaseTtl: 10_000 }
}

const tooLate = {
  state: 'error',
  error: { code: 'STORE_UNAVAILABLE', message: 'The store did not answer within 500 ms' },
}

describe('a guarded store', () => {
  test('hands commands on and answers back', async () => {
    const { guard, store, clock } = guarded()
    guard.open()
    const claim = await guard.claim(claimOf('k', 'one'))
    if (claim.state !== 'lease') throw new Error(claim.state)
    const value = { payload: Buffer.from('v'), ttl: 1_000, grace: 0, loadTime: 1, inlineLimit: 0 }
    expect(await Promise.all(guard.renew([claim.lease]))).toEqual([true])
    expect(await guard.fill(claim.lease, value)).toBe(true)
    expect((await guard.read('k'))?.payload.toString()).toBe('v')
    await guard.set('k', 'two'.padEnd(16, '-'), value)
    await guard.invalidate('k')
    expect(await guard.read('k')).toBeNull()
    expect(await guard.release(claim.lease)).toBe(false)
    expect(await guard.pass(claim.lease, 1)).toBe(false)
    expect(await guard.fail(claim.lease, { code: 'LOAD_FAILED', message: '', cause: null }, 0)).toBe(false)
    await guard.close()
    expect(store).toMatchObject({ opened: 1, closed: 1 })
    expect(clock.pending).toBe(0)
  })

  test('rejects each command that gets no answer, at its own deadline and not before (rule 12)', async () => {
    const { guard, store, clock } = guarded()
    store.mode = 'silent'
    const first = answerOf(guard.read('k'))
    await clock.advance(200)
    const second = answerOf(guard.read('k'))
    await clock.advance(299)
    expect([first, second]).toEqual([{ state: 'pending' }, { state: 'pending' }])
    await clock.advance(1)
    expect(first).toMatchObject(tooLate)
    await clock.advance(199)
    expect(second).toEqual({ state: 'pending' })
    await clock.advance(1)
    expect(second).toMatchObject(tooLate)
  })

  test('waits four deadlines for the first connection, and whole deadlines from its end', async () => {
    const { clock, guard, store } = guarded()
    let connect!: () => void
    const connected = new Promise<void>((resolve) => (connect = resolve))
    // No circuit breaker: each command waits for its own deadline.
    Object.assign(store, { connected, sharded: true })
    guard.open()
    store.mode = 'silent'
    const early = answerOf(guard.read('k'))
    await clock.advance(1_999)
    expect(early).toEqual({ state: 'pending' })
    await clock.advance(1)
    expect(early).toMatchObject({ error: { message: 'The store did not answer within 2000 ms' } })
    const late = answerOf(guard.read('k'))
    await clock.advance(700)
    connect()
    await settled()
    await clock.advance(499)
    expect(late).toEqual({ state: 'pending' })
    await clock.advance(1)
    expect(late).toMatchObject({ error: { message: 'The store did not answer within 1200 ms' } })
    const last = answerOf(guard.read('k'))
    await clock.advance(500)
    expect(last).toMatchObject(tooLate)
  })

  test('has one timer for all commands under way', async () => {
    const { guard, store, clock } = guarded()
    store.mode = 'silent'
    const answers = Array.from({ length: 100 }, () => answerOf(guard.read('k')))
    await settled()
    expect(clock.pending).toBe(1)
    await clock.advance(timeout)
    for (const answer of answers) expect(answer).toMatchObject(tooLate)
  })

  test('passes on an error of its own kind as it is', async () => {
    const { guard, backing } = guarded()
    const error = new CacheError('STORE_UNAVAILABLE', 'mine')
    backing.read = () => Promise.reject(error)
    await expect(guard.read('k')).rejects.toBe(error)
  })

  test("says of a store's own error name, message and code, and nothing that hangs on it", async () => {
    const { guard, backing } = guarded()
    const said = { command: { name: 'set', args: ['k', 'secret'] }, code: 'EPIPE' }
    backing.read = () => Promise.reject(Object.assign(new Error('write EPIPE'), said))
    const error: unknown = await guard.read('k').catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', message: 'The store failed: write EPIPE' })
    const { cause } = error as CacheError
    expect(cause).toMatchObject({ name: 'Error', message: 'write EPIPE', code: 'EPIPE' })
    expect(cause).not.toHaveProperty('command')
  })

  test.for([
    ['a string', 'down'],
    ['a number', 7],
    ['null', null],
    ['undefined', undefined],
  ] as const)('makes STORE_UNAVAILABLE of a store that rejects with %s', async ([, thrown]) => {
    const { guard, backing } = guarded()
    backing.read = () => Promise.reject(thrown)
    const read = answerOf(guard.read('k'))
    await settled()
    expect(read).toMatchObject({ state: 'error', error: { code: 'STORE_UNAVAILABLE' } })
  })

  test('makes STORE_UNAVAILABLE of a store that throws before it returns a promise', async () => {
    const { guard, backing, clock } = guarded()
    backing.read = () => {
      throw new Error('not connected')
    }
    await expect(guard.read('k')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await guard.close()
    expect(clock.pending).toBe(0)
  })

  test('releases a lease that was granted too late for its claim (rule 12)', async () => {
    const { guard, store, backing, clock } = guarded()
    // It arrives after the release that was sent when the deadline had passed.
    const letGo = store.hold('claim', 'before')
    const claim = answerOf(guard.claim(claimOf('k', 'one')))
    await clock.advance(timeout)
    expect(claim).toMatchObject(tooLate)
    letGo()
    await settled()
    expect(await backing.claim(claimOf('k', 'two'))).toMatchObject({ state: 'lease' })
  })

  test('leaves a wait that was answered too late for its claim', async () => {
    const { guard, store, backing, clock } = guarded()
    await backing.claim(claimOf('k', 'one'))
    let left = 0
    const claim = backing.claim.bind(backing)
    backing.claim = async (request) => {
      const answer = await claim(request)
      return answer.state === 'wait' ? { ...answer, leave: () => void left++ } : answer
    }
    const letGo = store.hold('claim', 'after')
    const late = answerOf(guard.claim(claimOf('k', 'two')))
    await clock.advance(timeout)
    expect(late).toMatchObject(tooLate)
    expect(left).toBe(0)
    letGo()
    await settled()
    expect(left).toBe(1)
  })

  test('survives a store that is gone when a late lease is released', async () => {
    const { guard, store, clock } = guarded()
    const letGo = store.hold('claim', 'after')
    answerOf(guard.claim(claimOf('k', 'one')))
    await clock.advance(timeout)
    store.mode = 'failing'
    letGo()
    await settled()
    expect(store.sent.at(-1)).toBe('release')
  })
})

describe('the breaker', () => {
  async function opened() {
    const all = guarded()
    all.store.mode = 'silent'
    answerOf(all.guard.read('k'))
    await all.clock.advance(timeout)
    return all
  }

  test('opens when nothing was answered, so that the silence costs its deadline once (rule 12)', async () => {
    const { guard, store, heard } = await opened()
    expect(heard).toEqual([['degraded', { error: expect.objectContaining({ code: 'STORE_UNAVAILABLE' }) }]])
    const sent = store.sent.length
    const next = answerOf(guard.read('k'))
    await settled()
    expect(next).toMatchObject({ state: 'error', error: { code: 'STORE_UNAVAILABLE' } })
    expect(store.sent).toHaveLength(sent)
  })

  test('stays closed when one command is slow and others are answered', async () => {
    const { guard, store, clock, heard } = guarded()
    store.hold('fill', 'before')
    const lease = { key: 'k', token: 'one', ttl: 10_000, fence: 1n, lost: new Promise<void>(() => undefined) }
    const fill = answerOf(
      guard.fill(lease, { payload: Buffer.alloc(0), ttl: 1, grace: 0, loadTime: 0, inlineLimit: 0 }),
    )
    await clock.advance(100)
    await guard.read('k')
    await clock.advance(400)
    expect(fill).toMatchObject(tooLate)
    expect(heard).toEqual([])
    expect(await guard.read('k')).toBeNull()
  })

  test('says once that the store is away, however many commands hear no answer', async () => {
    const { guard, store, clock, heard } = guarded()
    store.mode = 'silent'
    for (let count = 0; count < 10; count++) {
      answerOf(guard.read('k'))
      await clock.advance(10)
    }
    await clock.advance(timeout)
    expect(heard).toHaveLength(1)
  })

  test('asks four times a second whether the store is back, one ping at a time', async () => {
    const { store, clock } = await opened()
    await clock.advance(249)
    expect(store.count('ping')).toBe(0)
    await clock.advance(1)
    expect(store.count('ping')).toBe(1)
    await clock.advance(4_900)
    expect(store.count('ping')).toBe(1)
    await clock.advance(250)
    expect(store.count('ping')).toBe(2)
    store.mode = 'failing'
    store.hold('ping', 'before')()
  })

  test('asks again at its own pace when a ping is refused', async () => {
    const { guard, store, clock, heard } = await opened()
    store.mode = 'failing'
    await clock.advance(1_000)
    expect(store.count('ping')).toBe(4)
    expect(answerOf(guard.read('k'))).toBeDefined()
    expect(heard).toHaveLength(1)
  })

  test('never opens where keys live on several servers, for the silence of one says nothing of the others', async () => {
    const { guard, store, clock, heard } = guarded()
    store.sharded = true
    store.mode = 'silent'
    answerOf(guard.read('k'))
    await clock.advance(timeout)
    expect(heard).toEqual([])
    store.mode = 'answering'
    expect(await guard.read('l')).toBeNull()
    expect(store.count('ping')).toBe(0)
  })

  test('gives answers that came while the process was busy their turn, before it calls them late', async () => {
    const { guard, store, clock, heard } = guarded()
    const letGo = store.hold('read', 'after')
    const read = answerOf(guard.read('k'))
    await settled()
    const busy = clock.block(10_000)
    letGo()
    await busy
    expect(read).toEqual({ state: 'value', value: null })
    expect(heard).toEqual([])
  })

  test('closes when a ping is answered (rule 12)', async () => {
    const { guard, store, clock, heard } = await opened()
    store.thaw()
    store.sent.length = 0
    await settled()
    expect(heard.at(-1)).toEqual(['recovered', { after: 0 }])
    expect(await guard.read('k')).toBeNull()
    store.mode = 'silent'
    answerOf(guard.read('k'))
    await clock.advance(timeout)
    store.mode = 'answering'
    await clock.advance(250)
    expect(heard.slice(2)).toEqual([
      ['degraded', { error: expect.objectContaining({ code: 'STORE_UNAVAILABLE' }) }],
      ['recovered', { after: 250 }],
    ])
    expect(await guard.read('k')).toBeNull()
    await guard.close()
    expect(clock.pending).toBe(0)
  })

  test('closes when a command is answered after all, however late', async () => {
    const { guard, store, clock, heard } = await opened()
    await clock.advance(100)
    store.thaw()
    await settled()
    expect(heard.at(-1)).toEqual(['recovered', { after: 100 }])
    expect(await guard.read('k')).toBeNull()
    await clock.advance(10_000)
    expect(store.count('ping')).toBe(0)
  })
})

describe('a guarded store that was silent while a load ended', () => {
  test('releases its lease when it is back, so that nobody waits for its end (rule 12)', async () => {
    const { guard, backing, store, clock } = guarded()
    const claim = await guard.claim(claimOf('k', 'one'))
    if (claim.state !== 'lease') throw new Error(claim.state)
    store.mode = 'silent'
    answerOf(guard.read('k'))
    await clock.advance(timeout)
    const release = answerOf(guard.release(claim.lease))
    await settled()
    expect(release).toMatchObject(tooLate)
    expect((await backing.claim(claimOf('k', 'two'))).state).toBe('wait')
    store.mode = 'answering'
    await clock.advance(250)
    expect((await backing.claim(claimOf('k', 'three'))).state).toBe('lease')
    await guard.close()
  })
})

describe('a claim that is never answered', () => {
  test('is given back all the same: its lease may have been granted', async () => {
    const { guard, backing, store, clock } = guarded()
    store.hold('claim', 'after')
    const claim = answerOf(guard.claim(claimOf('k', guard.newToken())))
    await settled()
    expect((await backing.claim(claimOf('k', 'two'))).state).toBe('wait')
    await clock.advance(timeout)
    expect(claim).toMatchObject(tooLate)
    await clock.advance(250)
    expect((await backing.claim(claimOf('k', 'three'))).state).toBe('lease')
    await guard.close()
  })
})

describe('a guarded store that is closed', () => {
  test('rejects what is under way, and sets no timer any more (rule 13)', async () => {
    const { guard, store, clock, heard } = guarded()
    store.mode = 'silent'
    const read = answerOf(guard.read('k'))
    await guard.close()
    await settled()
    expect(read).toMatchObject({ state: 'error', error: { code: 'CLOSED' } })
    expect(clock.pending).toBe(0)
    expect(heard).toEqual([])
  })

  test('pings no more (rule 13)', async () => {
    const { guard, store, clock } = guarded()
    store.mode = 'silent'
    answerOf(guard.read('k'))
    await clock.advance(timeout)
    await guard.close()
    await clock.advance(60_000)
    expect(store.count('ping')).toBe(0)
    expect(clock.pending).toBe(0)
  })

  test('has waited for the ends of loads: once closed it sends nothing any more (rule 13)', async () => {
    const { guard, store, clock } = guarded()
    const claim = await guard.claim(claimOf('k', guard.newToken()))
    if (claim.state !== 'lease') throw new Error(claim.state)
    const pass = store.hold('pass', 'before')
    const answers = [answerOf(guard.pass(claim.lease, 1_000)), answerOf(guard.drain())]
    await settled()
    expect(answers).toEqual([{ state: 'pending' }, { state: 'pending' }])
    // Another command is answered meanwhile, so the store is not taken to be away when this one is not.
    await guard.read('k')
    const release = store.hold('release', 'before')
    await clock.advance(timeout)
    expect(answers).toMatchObject([tooLate, { state: 'pending' }])
    release()
    await settled()
    expect(answers).toMatchObject([tooLate, { state: 'value' }])
    await guard.close()
    pass()
    const { length } = store.sent
    await clock.advance(60_000)
    expect(store.sent).toHaveLength(length)
  })

  test('still leaves no command without an answer', async () => {
    const { guard, store, clock } = guarded()
    await guard.read('k')
    await guard.close()
    store.mode = 'silent'
    const read = answerOf(guard.read('k'))
    await clock.advance(timeout)
    expect(read).toMatchObject({ state: 'error' })
  })
})
