import { expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { startFleet, type Member } from '../support/fleet.ts'
import { startRedis } from '../support/servers.ts'

const many = 100_000

/** So that a machine that is slow or busy with something else has the time; what is tested is not its speed. */
const options = { waitTimeout: '10m', hardTimeout: '10m', leaseTtl: '10m' } as const
/** The last of so many commands is answered after more than the default deadline where other work takes the processors. */
const cache = { commandTimeout: '5m' } as const

/** Bytes that may be there after a flood and were not before: code that was compiled meanwhile, buffers of the client. */
const allowance = 12_000_000

test(
  '100 000 keys in flight in one process are all answered, and leave nothing in memory',
  { timeout: 300_000 },
  async () => {
    await using server = await startRedis()
    await using fleet = await startFleet({ processes: 1, redis: { options: server.address }, cache })
    const [member] = fleet.members as [Member]
    await member.flood({ keys: 5_000, callers: 1, ms: 1, prefix: 'warm ' })
    const before = await member.process.heap()
    const flooded = await member.flood({ keys: many, callers: 1, ms: 1, prefix: 'key ', options })
    expect(flooded).toEqual({ right: many, wrong: 0, loads: many, most: 0, errors: {} })
    await untilForgotten(member, before, allowance)
  },
)

test('loads that come one after the other leave nothing in memory', { timeout: 300_000 }, async () => {
  await using server = await startRedis()
  await using fleet = await startFleet({ processes: 1, redis: { options: server.address } })
  const [member] = fleet.members as [Member]
  await member.flood({ keys: 1_000, callers: 2, ms: 0, prefix: 'warm ' })
  const before = await member.process.heap()
  for (let round = 0; round < 50; round++) {
    const prefix = `round ${round} `
    const flooded = await member.flood({ keys: 1_000, callers: 2, ms: 0, prefix })
    expect(flooded).toEqual({ right: 2_000, wrong: 0, loads: 1_000, most: 0, errors: {} })
  }
  await untilForgotten(member, before, allowance / 2)
})

test(
  '100 000 callers of one key in one process are answered by one load, and leave nothing in memory',
  { timeout: 300_000 },
  async () => {
    await using server = await startRedis()
    await using fleet = await startFleet({ processes: 1, redis: { options: server.address } })
    const [member] = fleet.members as [Member]
    await member.flood({ keys: 1, callers: 5_000, ms: 1, prefix: 'warm ' })
    const before = await member.process.heap()
    await server.resetCounts()
    const flooded = await member.flood({ keys: 1, callers: many, ms: 1_000, prefix: 'key ', options })
    expect(flooded).toEqual({ right: many, wrong: 0, loads: 1, most: 0, errors: {} })
    const { get, evalsha = 0 } = await server.commandCounts()
    expect(get).toBe(1)
    // A claim and a fill; and where a busy machine is late with the heartbeat of the inbox, the lease is confirmed.
    expect(evalsha).toBeLessThan(20)
    await untilForgotten(member, before, allowance)
  },
)

/** The callers may have their answers before the last command has. */
async function untilForgotten(member: Member, before: number, most: number): Promise<void> {
  const isForgotten = async (): Promise<boolean> => (await member.process.heap()) - before < most
  await until(`at most ${most} bytes more are in use`, isForgotten, 60_000)
}
