import { describe, expect, test } from 'vitest'
import { Backlog } from '../../../src/core/guard/backlog.ts'
import { OwnLeases } from '../../../src/core/guard/own-leases.ts'
import type { LeaseName } from '../../../src/core/contract/store.ts'
import { FakeClock, settled } from '../../support/fake-clock.ts'
import { answerOf, pending, valued } from '../support/answer.ts'
import { fleet, type Fleet } from '../support/fleet.ts'
import { loading } from '../support/source.ts'

function owned() {
  const clock = new FakeClock()
  const sent: string[] = []
  const store = { answers: Promise.resolve() }
  const release = async ({ key }: LeaseName): Promise<boolean> => {
    sent.push(key)
    await store.answers
    return true
  }
  const leases = new OwnLeases({ release, sharded: false, clock })
  const ended = (key: string) => ({ key, token: leases.newToken(), ttl: 10_000 })
  return { clock, leases, sent, store, ended }
}

describe('the release of a lease whose load has ended', () => {
  /** A load in `a` whose end the store refuses, and the first release as well. */
  async function refused(): Promise<Fleet> {
    const all = fleet({ leaseTtl: '10s', warnings: false })
    const { source } = await loading(all.a)
    all.ways.a.mode = 'failing'
    await source.reject(0, new Error('down'))
    expect(all.ways.a.count('release')).toBe(1)
    return all
  }

  test('is repeated four times a second until it is answered', async () => {
    const { b, clock, ways } = await refused()
    const waiting = answerOf(b.getOrLoad('k', () => 'v'))
    await clock.advance(1_000)
    expect([ways.a.count('release'), waiting]).toEqual([5, pending])
    ways.a.mode = 'answering'
    await clock.advance(60_000)
    expect([ways.a.count('release'), waiting]).toEqual([6, valued('v')])
    expect(clock.pending).toBe(0)
  })

  test('is given up when the ttl of the lease is over', async () => {
    const { clock, ways } = await refused()
    await clock.advance(10_250)
    const before = ways.a.count('release')
    expect(before).toBeGreaterThan(35)
    await clock.advance(60_000)
    expect([ways.a.count('release'), clock.pending]).toEqual([before, 0])
  })

  test('is sent once more by a cache that closes, and no more after that', async () => {
    const { a, clock, ways } = await refused()
    await a.close()
    await clock.advance(60_000)
    expect([ways.a.count('release'), clock.pending]).toEqual([2, 0])
  })
})

describe('a lease', () => {
  test('that came back starts no round of releases in a cache that was closed meanwhile', async () => {
    const { leases, sent, store, ended } = owned()
    await leases.giveBack(ended('other'))
    let answer!: () => void
    store.answers = new Promise((resolve) => (answer = resolve))
    const back = leases.cameBack(ended('k'))
    await settled()
    expect(sent).toEqual(['other', 'k'])
    leases.close()
    answer()
    await back
    await settled()
    expect(sent).toEqual(['other', 'k'])
  })

  test('is over if this process has asked for it, and neither waits for the answer nor loads', () => {
    const { leases, ended } = owned()
    const lease = ended('k')
    leases.beginClaim(lease.token)
    expect(leases.isOver(lease.token)).toBe(false)
    leases.endLease(lease)
    expect(leases.isOver(lease.token)).toBe(true)
    expect(leases.isOver('of-another-one--')).toBe(false)
  })

  test('that comes back is given back, and with it all that have ended within their ttl, once', async () => {
    const { clock, leases, sent, ended } = owned()
    leases.endLease(ended('long ago'))
    await clock.advance(6_000)
    const seen = ended('seen')
    for (const lease of [ended('one'), seen, ended('two')]) leases.endLease(lease)
    await clock.advance(4_000)
    await leases.cameBack(seen)
    await settled()
    expect(sent.toSorted()).toEqual(['one', 'seen', 'seen', 'two'])
    await leases.cameBack(seen)
    expect(sent).toHaveLength(5)
    await clock.advance(100)
    await leases.cameBack(seen)
    await settled()
    expect(sent).toHaveLength(9)
  })

  test('is given back again when the server may be another, though its release is on its way to the one before', async () => {
    const { leases, sent, ended } = owned()
    leases.endLease(ended('k'))
    leases.giveBackAgain()
    leases.giveBackAgain()
    await settled()
    expect(sent).toEqual(['k', 'k'])
  })

  test('of more than ten thousand is forgotten, the oldest first', async () => {
    const { leases, sent, ended } = owned()
    for (let key = 0; key < 11_001; key++) leases.endLease(ended(`k${key}`))
    leases.giveBackAgain()
    await settled()
    expect(sent).toHaveLength(10_000)
    expect(sent[0]).toBe('k1001')
  })
})

describe('a backlog', () => {
  function backlog(independent: boolean) {
    const clock = new FakeClock()
    const sent: string[] = []
    const of = new Backlog<string>({
      most: 1_000,
      independent,
      clock,
      send: async (id) => {
        sent.push(id)
        return id !== 'bad'
      },
    })
    return { clock, of, sent }
  }

  test.for([
    { independent: false, sends: 100, keeps: 102 },
    { independent: true, sends: 201, keeps: 1 },
  ])('goes on behind a failure only if one says nothing of the others', async ({ independent, sends, keeps }) => {
    const { of, sent } = backlog(independent)
    of.add('bad', 'the same reason for all')
    for (let number = 0; number < 200; number++) of.add(`k${number}`, 'the same reason for all')
    await of.retry()
    expect(sent).toHaveLength(sends)
    expect(of.size).toBe(keeps)
    of.stop()
  })

  test('of more than one batch is sent in one round', async () => {
    const { of, sent } = backlog(false)
    for (let number = 0; number < 350; number++) of.add(`k${number}`, 'the same reason for all')
    await of.retry()
    expect(sent).toHaveLength(350)
    expect(of.size).toBe(0)
    of.stop()
  })
})
