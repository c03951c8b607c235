import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { createCache } from '../../src/index.ts'
import { redisStore } from '../../src/redis/index.ts'
import { reuseProcesses, startFleet, tally, type FleetShape, type LoaderSpec, type Member } from '../support/fleet.ts'
import { startProxy } from '../support/proxy.ts'
import { startRedis } from '../support/servers.ts'

reuseProcesses()
const server = await startRedis()
const redis = { options: server.address }

beforeEach(() => server.client.flushall())

afterAll(() => server.stop())

/** What is far below the 10 s of a lease, and far above the half second that a lost message may cost. */
const soon = 4_000

describe('when the subscriptions are cut in mid-wait', () => {
  test('whoever listens is told that it is lost, and when it is back', async () => {
    await using server = await startRedis()
    const client = server.connect()
    const cache = createCache({ store: redisStore(client) })
    const other = createCache({ store: redisStore(server.connect()), namespace: 'other' })
    const heard: boolean[] = []
    cache.on('push', ({ up }) => heard.push(up))
    await until('both have subscribed', () => subscribed(2, server))
    expect(heard).toEqual([])
    await server.client.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
    await until('it is back', () => heard.length === 2)
    expect(heard).toEqual([false, true])
    await Promise.all([cache.close(), other.close()])
    await server.client.call('ACL', 'SETUSER', 'default', '-subscribe')
    const without = createCache({ store: redisStore(client) })
    without.on('push', ({ up }) => heard.push(up))
    await until('it is refused', () => heard.length === 3)
    expect(heard).toEqual([false, true, false])
    await server.client.call('ACL', 'SETUSER', 'default', '+subscribe')
    await until('it is allowed again', () => heard.length === 4)
    expect(heard).toEqual([false, true, false, true])
    await without.close()
  })

  test('a subscription comes back though its client itself would not', async () => {
    await using cache = createCache({ store: redisStore(server.connect({ retryStrategy: () => null })) })
    const heard: boolean[] = []
    cache.on('push', ({ up }) => heard.push(up))
    await until('it is there', () => subscribed(1))
    await server.client.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
    await until('it is back', () => heard.length === 2)
    expect(heard).toEqual([false, true])
  })

  test('a holder that cannot subscribe again keeps its lease, however often others ask (rule 10)', async () => {
    await using proxy = await startProxy(server)
    await using fleet = await startFleet({ redis, each: viaProxy(proxy, 0) })
    const [holder, waiter] = fleet.members as [Member, Member]
    const ofHolder = await holder.ask('key')
    const load = await fleet.load(0)
    const ofWaiter = await waiter.ask('key', { callers: 3 })
    await fleet.waits(1)
    proxy.refuse()
    await server.resetCounts()
    await until(
      'the waiter has asked some more times',
      async () => ((await server.commandCounts())['evalsha'] ?? 0) >= 6,
    )
    await load.finish()
    expect(tally(await ofHolder.answers)).toEqual([{ told: load.value, callers: 1 }])
    expect(tally(await ofWaiter.answers)).toEqual([{ told: load.value, callers: 3 }])
    expect(fleet.loads).toHaveLength(1)
    expect(load.aborted).toBeUndefined()
  })

  test('a holder that has lost its subscription and is then killed is replaced at the end of its lease', async () => {
    await using proxy = await startProxy(server)
    const cache = { leaseTtl: 1_500 }
    await using fleet = await startFleet({
      redis,
      each: viaProxy(proxy, 0),
      cache,
    })
    const [holder, waiter] = fleet.members as [Member, Member]
    await holder.ask('key')
    const first = await fleet.load(0)
    const ofWaiter = await waiter.ask('key')
    await fleet.waits(1)
    proxy.refuse()
    await until(
      'the holder has taken its name off',
      async () => (await server.client.hget('{herdless:key}:lease', 'watched')) === null,
    )
    await first.process.kill()
    const second = await fleet.load(1)
    await second.finish()
    expect(tally(await ofWaiter.answers)).toEqual([{ told: second.value, callers: 1 }])
  })
})

describe('a subscription that is open at our end alone', () => {
  test.for([
    ['', {}],
    [', also where the client gives its commands up', { commandTimeout: 300 }],
  ] as const)('is noticed and made anew, so that outcomes are pushed again%s', async ([, options]) => {
    await using proxy = await startProxy(server)
    const client = server.connect(options)
    const viaProxy = Object.assign(Object.create(client) as typeof client, {
      duplicate: () => client.duplicate({ port: proxy.port }),
    })
    await using cache = createCache({ store: redisStore(viaProxy) })
    const heard: boolean[] = []
    cache.on('push', ({ up }) => heard.push(up))
    await until('it is there', () => subscribed(1))
    proxy.abandon()
    await until('its end is known', () => subscribed(0))
    await until('it is noticed', () => heard.length > 0)
    await until('it is there again', () => subscribed(1))
    await until('it is told', () => heard.length >= 2)
    // On a busy machine it may be taken for lost once more.
    expect(heard.slice(0, 2)).toEqual([false, true])
  })

  test('stays as it is while it answers', async () => {
    await using cache = createCache({ store: redisStore(server.connect()) })
    const heard: boolean[] = []
    cache.on('push', ({ up }) => heard.push(up))
    await until('it is there', () => subscribed(1))
    // On a busy machine an answer may come late: it need be so once.
    await until(
      'it was made sure of twice, and not taken for lost',
      async () => {
        heard.length = 0
        await server.resetCounts()
        await until('it was made sure of twice', async () => ((await server.commandCounts())['subscribe'] ?? 0) >= 2)
        return heard.length === 0
      },
      60_000,
    )
    expect(heard).toEqual([])
  })
})

test.for([
  ['costs half a second, not the lease (rule 7)', '1m'],
  ['does not make two loads of one, even if the value has expired meanwhile (rules 6 and 7)', 1],
] as const)('a message that never arrives %s', async ([, ttl]) => {
  await using proxy = await startProxy(server)
  const each = viaProxy(proxy, 1)
  await using fleet = await startFleet({ redis, each, cache: { ttl } })
  const [holder, waiter] = fleet.members as [Member, Member]
  const ofHolder = await holder.ask('key')
  const load = await fleet.load(0)
  const ofWaiter = await waiter.ask('key', { callers: 3 })
  await fleet.waits(1)
  proxy.blackHole('replies')
  await load.finish()
  const endedAt = Date.now()
  await ofHolder.answers
  const told = await ofWaiter.answers
  expect(tally(told)).toEqual([{ told: load.value, callers: 3 }])
  expect(Math.max(...told.map((answer) => answer.endedAt)) - endedAt).toBeLessThan(soon)
  expect(fleet.loads).toHaveLength(1)
})

describe('an outcome is pushed', () => {
  const outcomes: [string, LoaderSpec, LoaderSpec['error'], string][] = [
    ['as the value itself, if that is small', {}, undefined, 'v'],
    ['as a hint to read, if the value is large', { length: 5_000 }, undefined, 'r'],
    ['as an error', {}, { name: 'Error', message: 'of the load' }, 'f'],
    ['as a hint to load, if the value is not for sharing', { doNotStore: true }, undefined, 'p'],
  ]

  test.for(outcomes)('%s, once to each process that waits', async ([, loader, error, kind]) => {
    await using fleet = await startFleet({ processes: 4, redis })
    const messages: { channel: string; kind: string }[] = []
    const listener = server.connect()
    listener.on('pmessageBuffer', (_pattern: unknown, channel: Buffer, message: Buffer) => {
      messages.push({ channel: String(channel), kind: message.toString('latin1', 0, 1) })
    })
    await listener.psubscribe('herdless:inbox:*')
    const [holder, one, other] = fleet.members as [Member, Member, Member]
    const ofHolder = await holder.ask('key', { loader })
    const load = await fleet.load(0)
    const ofOthers = await fleet.ask('key', { callers: 5, loader: { ms: 0 } }, [one, other])
    // On a busy machine a process may wait before it has subscribed; then it asks again until it is enlisted.
    await until('both are enlisted', async () => {
      const fields = await server.client.hkeys('{herdless:key}:lease')
      return fields.filter((field) => field.startsWith('>')).length === 2
    })
    await (error ? load.fail(error) : load.finish())
    await Promise.all([ofHolder.answers, ofOthers.answers])
    await until('both messages are here', () => messages.length >= 2)
    expect(messages.map((message) => message.kind)).toEqual([kind, kind])
    expect(new Set(messages.map(({ channel }) => channel)).size).toBe(2)
  })

  test('to nobody, where nobody waits', async () => {
    await using fleet = await startFleet({ redis })
    const messages: string[] = []
    const listener = server.connect()
    listener.on('pmessage', (_pattern: string, _channel: string, message: string) => messages.push(message))
    await listener.psubscribe('*')
    const [member] = fleet.members as [Member]
    await member.get('key')
    await member.get('key')
    await member.set('key', 'value')
    await member.invalidate('key')
    await member.get('failing', { ms: 0, error: { name: 'Error', message: 'of the load' } })
    await server.client.publish('the end', 'the end')
    await until('the end', () => messages.includes('the end'))
    expect(messages).toEqual(['the end'])
  })
})

describe('where no message can be pushed', () => {
  const shapes: [string, () => Promise<Partial<FleetShape>>][] = [
    ['as `wakeUp: poll` says', async () => ({ store: { wakeUp: 'poll' } })],
    ['because SUBSCRIBE is forbidden', () => restricted('&*', '-subscribe')],
    ['because all channels are forbidden', () => restricted('resetchannels')],
    ['because PUBSUB and SUBSCRIBE are forbidden', () => restricted('&*', '-subscribe', '-pubsub')],
  ]

  test.for(shapes)('%s, waiters ask again, and it is one load (rule 7)', async ([, shapeOf]) => {
    const shape = await shapeOf()
    await using fleet = await startFleet({ processes: 3, redis, ...shape })
    const { answers } = await fleet.ask('key', { callers: 25 })
    await fleet.waits(2)
    const load = await fleet.load(0)
    await load.finish()
    expect(tally(await answers)).toEqual([{ told: load.value, callers: 75 }])
    expect(fleet.loads).toHaveLength(1)
    await fleet.members[1]?.invalidate('key')
    expect((await fleet.members[2]?.peek('key'))?.state).toBe('missing')
    expect(await fleet.heard('degraded')).toBe(0)
  })

  test('by one process alone, the others learn of its load by asking again, and it of theirs', async () => {
    const { redis: mute } = await restricted('resetchannels')
    const cache = { onStoreFailure: 'throw' as const }
    const each = (number: number): Partial<FleetShape> => (number === 0 && mute ? { redis: mute } : {})
    await using fleet = await startFleet({ processes: 3, redis, each, cache })
    for (const [round, first] of [0, 1].entries()) {
      const key = `key ${round}`
      const crowds = [await fleet.members[first]?.ask(key, { callers: 3 })]
      const load = await fleet.load(round)
      const others = fleet.members.filter(({ number }) => number !== first)
      crowds.push(await fleet.ask(key, { callers: 3 }, others))
      await fleet.waits(2 * (round + 1))
      await load.finish()
      for (const crowd of crowds)
        expect(tally((await crowd?.answers) ?? []).map(({ told }) => told)).toEqual([load.value])
      expect(fleet.loadsOf(key)).toHaveLength(1)
    }
    // Whoever must not publish can invalidate all the same, while others load.
    await fleet.members[1]?.ask('key 2')
    await fleet.load(2)
    await fleet.members[0]?.invalidate('key 2')
  })
})

async function subscribed(count: number, on = server): Promise<boolean> {
  return ((await on.client.pubsub('CHANNELS', 'herdless:inbox:*')) as string[]).length === count
}

/** The subscription of one member goes through a proxy. */
function viaProxy({ host, port }: { host: string; port: number }, through: number): NonNullable<FleetShape['each']> {
  return (number) => (number === through ? { redis: { options: server.address, subscriber: { host, port } } } : {})
}

/** As a user who may do everything but this. */
async function restricted(...rules: string[]): Promise<Partial<FleetShape>> {
  await server.client.acl('SETUSER', 'app', 'reset', 'on', '>secret', '~*', '+@all', ...rules)
  return { redis: { options: { ...server.address, username: 'app', password: 'secret' } } }
}
