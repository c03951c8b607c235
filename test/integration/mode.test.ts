import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { createCache, type Mode } from '../../src/index.ts'
import { redisStore } from '../../src/redis/index.ts'
import { until } from '../../tools/until.mjs'
import { patient, reuseProcesses, startFleet, type Fleet, type FleetShape } from '../support/fleet.ts'
import { startRedis } from '../support/servers.ts'
import { herdless } from './command.ts'

const server = await startRedis()

reuseProcesses()
beforeEach(async () => {
  await server.client.flushall()
  // Redis drops a subscription up to a millisecond after the process has said that its cache is closed.
  await until('no cache of the last test listens', async () => (await listeners()) === 0)
})
afterAll(() => server.stop())

async function listeners(): Promise<number> {
  return (await server.client.pubsub('CHANNELS', 'herdless:inbox:*')).length
}

function mode(...args: readonly string[]): ReturnType<typeof herdless> {
  return herdless(['mode', ...args, '--namespace', 'shop', server.url])
}

async function fleetOf(cache: FleetShape['cache'] = {}): Promise<Fleet> {
  return await startFleet({
    redis: { options: server.address },
    cache: { namespace: 'shop', ttl: '1h', grace: '1h', ...patient, ...cache },
  })
}

async function all(fleet: Fleet, expected: Mode): Promise<void> {
  for (const member of fleet) await until(`all are ${expected}`, async () => (await member.mode()) === expected)
}

describe('herdless mode', () => {
  test('switches every process off, and back, with the values of before that nobody has invalidated', async () => {
    await using fleet = await fleetOf({ near: {} })
    const [a, b] = [...fleet]
    for (const key of ['kept', 'gone']) await a?.get(key)
    for (const member of fleet) for (const key of ['kept', 'gone']) await member.get(key)
    const before = fleet.loads.length
    expect(await mode('off', '--for', '1h')).toMatchObject({ code: 0 })
    await all(fleet, 'off')
    const answers = [await a?.get('kept'), await b?.get('kept'), await b?.get('new')]
    expect(fleet.loads.length - before).toBe(3)
    expect(answers.map((answer) => answer?.value)).toEqual(fleet.loads.slice(before).map(({ value }) => value))
    expect(await server.client.exists('{shop:new}')).toBe(0)
    await b?.invalidate('gone')
    expect(await mode('cache')).toMatchObject({ code: 0 })
    await all(fleet, 'cache')
    const loads = fleet.loads.length
    // What a process has loaded itself meanwhile, it never takes for older.
    expect((await a?.get('gone'))?.value).toBe(fleet.loads[loads]?.value)
    expect(fleet.loads.length - loads).toBe(1)
  })

  test('tells the processes that listen, and one that begins later finds it', async () => {
    const store = redisStore(server.connect())
    const nothing = (): void => undefined
    // It does not look from time to time, as a cache does.
    const told = new Promise<void>((modeChanged) => {
      const user = { pushed: nothing, mayHaveForgotten: nothing, awaited: nothing, modeChanged }
      store.open(user)
      onTestFinished(() => store.close(user))
    })
    await store.read('shop:k')
    await until('it listens', async () => (await listeners()) === 1)
    const { out } = await mode('off', '--for', '30s')
    expect(out).toMatch(
      /^shop: off for \d+ (s|min)\. 1 listener of this server told; other processes find it within 5 s\n$/,
    )
    await told
    const cache = createCache({ store: redisStore(server.connect()), namespace: 'shop', ...patient })
    onTestFinished(() => cache.close())
    await until('it is off', () => cache.mode === 'off')
    expect(await cache.getOrLoad('k', () => 1)).toBe(1)
    expect(await server.client.exists('{shop:k}')).toBe(0)
  })

  test('is found where messages are not', async () => {
    const store = redisStore(server.connect(), { wakeUp: 'poll' })
    const cache = createCache({ store, namespace: 'shop', ...patient })
    onTestFinished(() => cache.close())
    await cache.getOrLoad('k', () => 1)
    await mode('off', '--for', '1h')
    await until('it is off', () => cache.mode === 'off', 60_000)
    expect(cache.stats().mode).toBe('off')
  })

  test('ends the wait for a load of another process, whose own callers are given its result', async () => {
    await using fleet = await fleetOf()
    const [a, b] = [...fleet]
    const asked = await a?.ask('k')
    const first = await fleet.load(0)
    const waiting = await b?.ask('k')
    await fleet.waits(1)
    await mode('off')
    const second = await fleet.load(1)
    expect(second.process).toBe(b?.process)
    await second.finish()
    expect((await waiting?.answers)?.[0]?.value).toBe(second.value)
    await all(fleet, 'off')
    await first.finish()
    expect((await asked?.answers)?.[0]?.value).toBe(first.value)
    expect(await server.client.exists('{shop:k}')).toBe(0)
    await until('the lease is given back', async () => (await server.client.exists('{shop:k}:lease')) === 0)
  })

  test('does not bring near copies back that have missed an invalidation', async () => {
    await using fleet = await fleetOf({ near: { ttl: '1h' } })
    const [a, b] = [...fleet]
    for (let times = 0; times < 3; times++) await a?.get('k')
    await a?.mode('off')
    await b?.set('k', 'new')
    await a?.mode('cache')
    expect((await a?.get('k'))?.value).toBe('new')
  })

  test('is shown, by the doctor too, and by what explains a key', async () => {
    const cache = createCache({ store: redisStore(server.connect()), namespace: 'shop', ...patient })
    onTestFinished(() => cache.close())
    await cache.set('k', 1)
    expect((await mode()).out).toBe('shop: cache\n')
    expect(JSON.parse((await mode('--json')).out)).toEqual({ namespace: 'shop', mode: 'cache', left: null, told: null })
    const { out } = await mode('off', '--for', '5m', '--json')
    expect(JSON.parse(out)).toMatchObject({ namespace: 'shop', mode: 'off', told: 1 })
    expect((await mode()).out).toMatch(/^shop: off for \d+ (s|min)\n$/)
    const doctor = await herdless(['doctor', server.url, '--namespace', 'shop', '--json'])
    const { findings } = JSON.parse(doctor.out) as { findings: { check: string; what: string; level: string }[] }
    const found = findings.find(({ check }) => check === 'mode')
    expect(found).toMatchObject({
      level: 'warning',
      what: expect.stringMatching(/^Namespace shop is off, for another /),
    })
    const explained = await herdless(['explain', '--namespace', 'shop', server.url, 'k'])
    expect(explained.out).toContain('The namespace is off, for another')
    await mode('observe')
    await until('it observes', () => cache.mode === 'observe')
  })

  test('is set in a namespace where nothing is, with a word about that', async () => {
    await server.client.set('{stop:k}', 'x')
    const { code, out, err } = await mode('off')
    expect(code).toBe(0)
    expect(out).toMatch(/^shop: off for \d+ (s|min)\. 0 listeners/)
    expect(err).toContain('Nothing is stored in namespace shop. Did you mean --namespace stop?')
  })

  test('is set by a user who must not know who listens', async () => {
    await server.client.call('ACL', 'SETUSER', 'few', 'on', '>pw', '~*', '&*', '+@all', '-pubsub|channels')
    onTestFinished(async () => void (await server.client.call('ACL', 'DELUSER', 'few')))
    const { out } = await herdless(['mode', 'off', '--namespace', 'shop', server.url.replace('//', '//few:pw@')])
    expect(out).toMatch(/^shop: off for \d+ (s|min)\. Processes find it within 5 s\n$/)
  })

  test.each([
    [['of'], 'Expected one of the modes cache, observe, off, got of'],
    [['off', '--for', '5'], 'Expected --for to be a time with its unit'],
    [['cache', '--for', '5m'], 'Expected --for beside off or observe, got it beside cache'],
    [['--for', '5m'], 'Expected --for beside off or observe, got it beside no mode'],
  ])('refuses %j', async (args, message) => {
    const { code, err } = await mode(...args)
    expect(code).toBe(2)
    expect(err).toContain(message)
  })

  test('leaves what another version of the library may have set alone', async () => {
    await server.client.set('{shop:}mode', 'sideways')
    const cache = createCache({ store: redisStore(server.connect()), namespace: 'shop', ...patient })
    onTestFinished(() => cache.close())
    expect((await cache.explain('k')).here.mode).toBe('cache')
  })
})
