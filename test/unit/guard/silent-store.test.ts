import { describe, expect, test } from 'vitest'
import { CacheError, createCache, memoryStore, type CacheEvents } from '../../../src/index.ts'
import { FakeClock, settled } from '../../support/fake-clock.ts'
import { allAsked, answerOf, asked, pending, valued } from '../support/answer.ts'
import { fleet, type Fleet } from '../support/fleet.ts'
import { loading, Source, throwing } from '../support/source.ts'
import { UnreliableStore } from '../support/unreliable-store.ts'

interface Scene extends Fleet {
  /** What `a` tells of outages. */
  readonly heard: [keyof CacheEvents, unknown][]
}

/** A fleet in which `a` may lose its store, whose commands have half a second. */
function scene(): Scene {
  const all = fleet({ commandTimeout: 500, warnings: false })
  const heard: Scene['heard'] = []
  for (const name of ['degraded', 'recovered'] as const) all.a.on(name, (event) => heard.push([name, event]))
  return { ...all, heard }
}

/** The same, in which the store has been silent for as long as a command may take. */
async function silent(): Promise<Scene> {
  const all = scene()
  all.ways.a.mode = 'silent'
  answerOf(all.a.peek('k'))
  await all.clock.advance(500)
  return all
}

/** A cache on a silent store that is not connected yet, without a circuit breaker: each command waits for its own deadline. */
function connecting() {
  const clock = new FakeClock()
  let connect!: () => void
  const connected = new Promise<void>((resolve) => (connect = resolve))
  const store = Object.assign(new UnreliableStore(memoryStore({ clock })), { connected, sharded: true })
  store.mode = 'silent'
  return { a: createCache({ store, clock, commandTimeout: 500, warnings: false }), store, clock, connect }
}

const unavailable = { state: 'error', error: { code: 'STORE_UNAVAILABLE' } }
const tooLate = {
  state: 'error',
  error: { code: 'STORE_UNAVAILABLE', message: 'The store did not answer within 500 ms' },
}
const degraded = ['degraded', { error: expect.objectContaining({ code: 'STORE_UNAVAILABLE' }) as unknown }]
const nothing = valued({ state: 'missing' })

describe('the deadline of a command', () => {
  test('rejects each that gets no answer, at its own time and not before (rule 12)', async () => {
    const { a, ways, clock } = scene()
    ways.a.mode = 'silent'
    const answers = [answerOf(a.peek('k'))]
    await clock.advance(200)
    answers.push(answerOf(a.peek('k')))
    await clock.advance(299)
    expect(answers).toEqual([pending, pending])
    await clock.advance(1)
    expect(answers).toMatchObject([tooLate, pending])
    await clock.advance(199)
    expect(answers).toMatchObject([tooLate, pending])
    await clock.advance(1)
    expect(answers).toMatchObject([tooLate, tooLate])
  })

  test('is four times as long for the first connection, and whole from its end', async () => {
    const { a, clock, connect } = connecting()
    const early = answerOf(a.peek('k'))
    await clock.advance(1_999)
    expect(early).toEqual(pending)
    await clock.advance(1)
    expect(early).toMatchObject({ error: { message: 'The store did not answer within 2000 ms' } })
    const late = answerOf(a.peek('k'))
    await clock.advance(700)
    connect()
    await settled()
    await clock.advance(499)
    expect(late).toEqual(pending)
    await clock.advance(1)
    expect(late).toMatchObject({ error: { message: 'The store did not answer within 1200 ms' } })
    const last = answerOf(a.peek('k'))
    await clock.advance(500)
    expect(last).toMatchObject(tooLate)
  })

  test('counts for a set from the first connection on, and one that was given up before is not sent (rule 4)', async () => {
    const { a, store, clock, connect } = connecting()
    const early = answerOf(a.set('k', 'given up'))
    await clock.advance(1_000)
    const late = answerOf(a.set('other', 'v'))
    await clock.advance(1_000)
    expect([early, late]).toMatchObject([{ error: { code: 'STORE_UNAVAILABLE' } }, pending])
    expect(store.count('set')).toBe(0)
    connect()
    store.thaw()
    await settled()
    expect(late).toMatchObject({ state: 'value' })
    expect(store.count('set')).toBe(1)
    expect([await a.peek('k'), await a.peek('other')]).toMatchObject([{ state: 'missing' }, { value: 'v' }])
  })

  test('does not keep a caller for longer than it waits, also during the first connection (rule 8)', async () => {
    const { a, clock } = connecting()
    const source = new Source()
    const answer = answerOf(a.getOrLoad('k', source.loader, { waitTimeout: 1_000 }))
    await clock.advance(1_000)
    expect(answer).toMatchObject({ error: { code: 'WAIT_TIMEOUT' } })
    await clock.advance(2_000)
    expect(source.runs).toEqual([])
  })

  test('has one timer for all commands under way', async () => {
    const { a, ways, clock } = scene()
    ways.a.mode = 'silent'
    const answers = await allAsked(Array.from({ length: 100 }, (_, index) => a.peek(`k${index}`)))
    expect([ways.a.count('read'), clock.pending]).toEqual([100, 1])
    await clock.advance(500)
    for (const answer of answers) expect(answer).toMatchObject(tooLate)
  })

  test('comes after answers that have arrived while the process was busy', async () => {
    const { a, ways, clock, heard } = scene()
    const letGo = ways.a.hold('read', 'after')
    const peeked = await asked(a.peek('k'))
    const busy = clock.block(10_000)
    letGo()
    await busy
    expect([peeked, heard]).toEqual([nothing, []])
  })
})

describe('a store that fails', () => {
  test.for<[string, () => unknown]>([
    ['rejects with a string', () => Promise.reject('down')],
    ['rejects with a number', () => Promise.reject(7)],
    ['rejects with null', () => Promise.reject(null)],
    ['rejects with undefined', () => Promise.reject(undefined)],
    ['throws before it returns a promise', throwing(new Error('not connected'))],
  ])('is STORE_UNAVAILABLE when it %s', async ([, read]) => {
    const { a, ways, clock } = scene()
    ways.a.read = read as typeof ways.a.read
    expect(await asked(a.peek('k'))).toMatchObject(unavailable)
    await a.close()
    expect(clock.pending).toBe(0)
  })

  test('with an error of the cache has it passed on as it is', async () => {
    const { a, ways } = scene()
    ways.a.read = () => Promise.reject(new CacheError('STORE_UNAVAILABLE', 'mine'))
    await expect(a.peek('k')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', message: 'mine' })
  })
})

describe('a claim that is answered too late', () => {
  test.for([
    ['arrived after the release that followed its deadline', 'before', true],
    ['was on its way back', 'after', true],
    ['is never heard of', 'after', false],
  ] as const)('has its lease given back, where it %s (rule 12)', async ([, where, answered]) => {
    const { a, b, ways, clock } = scene()
    const letGo = ways.a.hold('claim', where)
    const claiming = answerOf(a.refresh('k', () => 'without a lease'))
    await clock.advance(500)
    expect(claiming).toEqual(valued('without a lease'))
    if (answered) letGo()
    await clock.advance(250)
    expect(await asked(b.getOrLoad('k', ({ fence }) => fence !== null))).toEqual(valued(true))
  })

  test('is harmless in a store that has failed since', async () => {
    const { a, ways, clock } = scene()
    const letGo = ways.a.hold('claim', 'after')
    answerOf(a.refresh('k', () => 'v'))
    await clock.advance(500)
    ways.a.mode = 'failing'
    letGo()
    await settled()
    expect(ways.a.sent.at(-1)).toBe('release')
  })

  test('and had to wait leaves that wait', async () => {
    const { a, b, ways, clock } = scene()
    await loading(b)
    let left = 0
    const claim = ways.a.claim.bind(ways.a)
    ways.a.claim = async (request) => {
      const answer = await claim(request)
      return answer.state === 'wait' ? { ...answer, leave: () => (left++, answer.leave()) } : answer
    }
    const letGo = ways.a.hold('claim', 'after')
    answerOf(a.refresh('k', () => 'v'))
    await clock.advance(500)
    expect(left).toBe(0)
    letGo()
    await settled()
    expect(left).toBe(1)
  })
})

describe('the breaker', () => {
  test('opens when nothing was answered, so that the silence costs its deadline once (rule 12)', async () => {
    const { a, ways, clock, heard } = scene()
    ways.a.mode = 'silent'
    for (let count = 0; count < 10; count++) {
      answerOf(a.peek('k'))
      await clock.advance(10)
    }
    await clock.advance(500)
    // Once, however many commands hear no answer.
    expect(heard).toEqual([degraded])
    const sent = ways.a.sent.length
    expect(await asked(a.peek('k'))).toMatchObject(unavailable)
    expect(ways.a.sent).toHaveLength(sent)
  })

  test('stays closed when one command is slow and others are answered', async () => {
    const { a, ways, clock, heard } = scene()
    ways.a.hold('set', 'before')
    const set = answerOf(a.set('k', 'v'))
    await clock.advance(100)
    await a.peek('k')
    await clock.advance(400)
    expect(set).toMatchObject(tooLate)
    expect(heard).toEqual([])
    expect(await asked(a.peek('k'))).toEqual(nothing)
  })

  test('never opens where keys live on several servers, for the silence of one says nothing of the others', async () => {
    const { a, ways, clock, heard } = scene()
    Object.assign(ways.a, { sharded: true, mode: 'silent' })
    answerOf(a.peek('k'))
    await clock.advance(500)
    ways.a.mode = 'answering'
    expect(await asked(a.peek('l'))).toEqual(nothing)
    expect([heard, ways.a.count('ping')]).toEqual([[], 0])
  })

  test('asks four times a second whether the store is back, one ping at a time', async () => {
    const { ways, clock } = await silent()
    await clock.advance(249)
    expect(ways.a.count('ping')).toBe(0)
    await clock.advance(1)
    expect(ways.a.count('ping')).toBe(1)
    await clock.advance(4_900)
    expect(ways.a.count('ping')).toBe(1)
    await clock.advance(250)
    expect(ways.a.count('ping')).toBe(2)
  })

  test('asks again at its own pace when a ping is refused', async () => {
    const { ways, clock, heard } = await silent()
    ways.a.mode = 'failing'
    await clock.advance(1_000)
    expect(ways.a.count('ping')).toBe(4)
    expect(heard).toEqual([degraded])
  })

  test('closes when a ping is answered (rule 12)', async () => {
    const { a, b, ways, clock, heard } = await silent()
    ways.a.mode = 'answering'
    await clock.advance(250)
    expect(heard).toEqual([degraded, ['recovered', { after: 250 }]])
    expect(await asked(a.getOrLoad('k', () => 'v'))).toEqual(valued('v'))
    expect(await asked(b.getOrLoad('k', () => 'wrong'))).toEqual(valued('v'))
    await clock.advance(10_000)
    expect(ways.a.count('ping')).toBe(1)
  })

  test('closes when a command is answered after all, however late', async () => {
    const { a, ways, clock, heard } = await silent()
    await clock.advance(100)
    ways.a.thaw()
    await settled()
    expect(heard).toEqual([degraded, ['recovered', { after: 100 }]])
    expect(await asked(a.peek('k'))).toEqual(nothing)
    await clock.advance(10_000)
    expect(ways.a.count('ping')).toBe(0)
  })

  test('closes, and gives back the leases of loads that have ended meanwhile (rule 12)', async () => {
    const { a, b, ways, clock } = scene()
    const { source } = await loading(a)
    ways.a.mode = 'silent'
    answerOf(a.peek('k'))
    await clock.advance(500)
    await source.reject(0, new Error('down'))
    const waiting = await asked(b.getOrLoad('k', () => 'v'))
    expect(waiting).toEqual(pending)
    ways.a.mode = 'answering'
    await clock.advance(250)
    expect(waiting).toEqual(valued('v'))
  })
})

describe('a cache that is closed', () => {
  test('asks no more whether the store is back (rule 13)', async () => {
    const { a, ways, clock } = await silent()
    await a.close()
    await clock.advance(60_000)
    expect([ways.a.count('ping'), clock.pending]).toEqual([0, 0])
  })

  test('has waited for the ends of its loads: it sends nothing any more (rule 13)', async () => {
    const { a, ways, clock } = scene()
    const pass = ways.a.hold('pass', 'before')
    const answers = await allAsked<unknown>([a.getOrLoad('k', ({ doNotStore }) => doNotStore())])
    // Another command is answered meanwhile, so the store is not taken to be away when this one is not.
    await a.peek('l')
    answers.push(answerOf(a.close()))
    const release = ways.a.hold('release', 'before')
    await clock.advance(500)
    expect([answers[1], ways.a.sent.at(-1)]).toEqual([pending, 'release'])
    release()
    await settled()
    expect(answers).toEqual([valued(undefined), valued(undefined)])
    pass()
    const { length } = ways.a.sent
    await clock.advance(60_000)
    expect(ways.a.sent).toHaveLength(length)
  })
})

describe('a store that throws where it should reject', () => {
  const thrown = throwing(new Error('no connection'))

  test('is away for as long as its ping throws', async () => {
    const { ways, clock, heard } = await silent()
    const ping = ways.a.ping.bind(ways.a)
    ways.a.ping = thrown
    await clock.advance(1_000)
    expect(heard).toEqual([degraded])
    ways.a.ping = ping
    ways.a.thaw()
    await clock.advance(500)
    expect(heard).toHaveLength(2)
  })

  test('has not renewed a lease, and is asked again', async () => {
    const { a, ways, clock } = scene()
    const { source, answer } = await loading(a, { leaseTtl: 3_000 })
    const renew = ways.a.renew.bind(ways.a)
    ways.a.renew = thrown
    await clock.advance(1_000)
    ways.a.renew = renew
    await clock.advance(5_000)
    await source.resolve(0, 'v')
    expect([answer, source.runs.length]).toEqual([valued('v'), 1])
  })
})
