import { describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { startNodes, startRedis } from '../support/servers.ts'
import { LockFleet } from './fleet.ts'

const patient = { wait: '60s' } as const

describe('many processes that want one lock', () => {
  test.for([{ fair: true }, { fair: false }])('have it one after the other (fair: $fair)', async ({ fair }) => {
    await using server = await startRedis()
    await using fleet = await LockFleet.open(4, { kind: 'redis', addresses: [server.address], options: {} })
    const waits = await fleet.contend({ name: 'job', callers: 5, times: 3, hold: 2, options: { ...patient, fair } })
    expect(waits).toHaveLength(4 * 5 * 3)
    await until('all has been said', () => fleet.referee.turns.every(({ released }) => released !== undefined))
    expect(fleet.referee.wrong()).toEqual([])
    expect(fleet.referee.turns.map(({ released }) => released)).toEqual(Array(60).fill('released'))
  })

  test('have it one after the other on five servers', async () => {
    await using nodes = await startNodes(5)
    const addresses = nodes.nodes.map(({ address }) => address)
    await using fleet = await LockFleet.open(3, { kind: 'redlock', addresses, options: {} })
    await fleet.contend({ name: 'job', callers: 2, times: 4, hold: 2, options: patient })
    expect(fleet.referee.turns).toHaveLength(3 * 2 * 4)
    expect(fleet.referee.wrong()).toEqual([])
  })

  test('need few commands for each hand-off, and no more if there are twice as many', async () => {
    await using server = await startRedis()
    const perTurn = async (processes: number): Promise<number> => {
      await using fleet = await LockFleet.open(processes, { kind: 'redis', addresses: [server.address], options: {} })
      await server.resetCounts()
      const waits = await fleet.contend({
        name: 'job',
        callers: 12,
        times: 1,
        hold: 5,
        options: { ...patient, fair: true },
      })
      const sent = Object.values(await server.commandCounts()).reduce((sum, count) => sum + count, 0)
      // A waiter asks again when it has heard nothing for 1.5 s ± 25 %: that counts time, and not turns.
      const askedAgain = waits.reduce((sum, wait) => sum + Math.floor(wait / 1_125), 0)
      return (sent - askedAgain) / fleet.referee.turns.length
    }
    expect(await perTurn(4)).toBeLessThanOrEqual(4.5)
    expect(await perTurn(8)).toBeLessThanOrEqual(4.5)
  })

  test('take it over from one that is killed, long before its ttl ends', async () => {
    await using server = await startRedis()
    const options = { stealFromDead: true, ttl: '60s' }
    await using fleet = await LockFleet.open(2, { kind: 'redis', addresses: [server.address], options })
    await until('both listen', async () => (await server.client.pubsub('CHANNELS')).length === 2)
    const [first, second] = fleet.pair()
    await first.tell('take', { name: 'job', options: {} })
    const next = second.tell('take', { name: 'job', options: { wait: '30s' } })
    await until('it waits', async () => (await server.client.exists('{lock:job}:queue')) === 1)
    await fleet.kill(first)
    await next
    expect(fleet.referee.wrong()).toEqual([])
  })
})

/** Long enough for a process that a busy machine starves, and most of what its test takes. */
const ttl = '8s'

describe.concurrent('when the one that has the lock is killed, the next has it after that, with a higher fence', () => {
  test('on one server', async ({ expect }) => {
    await using server = await startRedis()
    await using fleet = await LockFleet.open(2, { kind: 'redis', addresses: [server.address], options: { ttl } })
    expect(await afterKill(fleet)).toEqual({ wrong: [], turns: 2 })
  })

  test('on five servers', async ({ expect }) => {
    await using nodes = await startNodes(5)
    const addresses = nodes.nodes.map(({ address }) => address)
    await using fleet = await LockFleet.open(2, { kind: 'redlock', addresses, options: { ttl } })
    expect(await afterKill(fleet)).toEqual({ wrong: [], turns: 2 })
  })
})

/** Kills the holder of a lock that another process asks for; resolves with what was wrong when that has it, and how many had it. */
async function afterKill(fleet: LockFleet): Promise<{ wrong: string[]; turns: number }> {
  const [first, second] = fleet.pair()
  await first.tell('take', { name: 'job', options: {} })
  const next = second.tell('take', { name: 'job', options: patient })
  await fleet.kill(first)
  await next
  await until('both have been heard', () => fleet.referee.turns.length === 2)
  return { wrong: fleet.referee.wrong(), turns: fleet.referee.turns.length }
}
