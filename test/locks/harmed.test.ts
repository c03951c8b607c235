import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { provisionPostgres } from '../../tools/servers/provision-postgres.mjs'
import { provisionZooKeeper } from '../../tools/servers/provision-zookeeper.mjs'
import { startPostgres } from '../../tools/servers/start-postgres.mjs'
import { startZooKeeper } from '../../tools/servers/start-zookeeper.mjs'
import type { FleetProcess } from '../support/fleet-process.ts'
import { missing } from '../support/provided.ts'
import { startNodes, startRedis } from '../support/servers.ts'
import { LockFleet, machineNow } from './fleet.ts'
import type { Opening } from './referee.ts'

interface Backend {
  readonly addresses: readonly object[]
  readonly stop: () => Promise<void>
}

interface Provider {
  readonly name: string
  readonly kind: Opening['kind']
  readonly start: () => Promise<Backend>
  readonly options: object
}

/** A busy machine needs longer for as many harms. */
const least = { ms: 28_000, harms: 6 }
const ttl = 1_000

/** A server that is the whole backend. */
function one(start: () => Promise<{ address: object; stop: () => Promise<void> }>): () => Promise<Backend> {
  return async () => {
    const server = await start()
    return { addresses: [server.address], stop: () => server.stop() }
  }
}

async function redlock(): Promise<Backend> {
  const nodes = await startNodes(5)
  return { addresses: [...nodes].map(({ address }) => address), stop: () => nodes.stop() }
}

const [redis, postgres] = [one(startRedis), one(startPostgres)]

const places: { place: string; providers: Provider[]; reason?: string | undefined }[] = [
  {
    place: 'on Redis',
    providers: [
      { name: 'redisLock', kind: 'redis', start: redis, options: {} },
      { name: 'redisLock, stealing', kind: 'redis', start: redis, options: { stealFromDead: true } },
      { name: 'redlock', kind: 'redlock', start: redlock, options: {} },
    ],
  },
  {
    place: 'in PostgreSQL',
    providers: [
      { name: 'postgresLock', kind: 'postgres', start: postgres, options: {} },
      { name: 'postgresLock, advisory', kind: 'postgres', start: postgres, options: { advisory: true } },
    ],
    reason: await missing(provisionPostgres),
  },
  {
    place: 'in ZooKeeper',
    providers: [{ name: 'zookeeperLock', kind: 'zookeeper', start: one(startZooKeeper), options: {} }],
    reason: await missing(provisionZooKeeper),
  },
]

/** What is done to a fleet while it works. */
type Harm = (fleet: LockFleet, begin: (process: FleetProcess) => void) => Promise<void>

const kill: Harm = async (fleet, begin) => {
  await pause(1_000)
  const [victim] = fleet.processes
  if (victim === undefined) throw new Error('Expected a process')
  await fleet.kill(victim)
  begin(await fleet.add())
}

/**
 * Holds the loop of one of them up for at most this part of a ttl, again and again: what it reads between two times, such
 * as a lock that was granted long ago, is followed by the next before its timers run. The others take what it loses.
 */
function block(part: number): Harm {
  return async ({ processes }) => {
    const victim = processes.at(-1)
    for (let times = 0; times < 8; times++) await victim?.block(Math.sqrt(Math.random()) * part * ttl)
    await pause((Math.random() * ttl) / 4)
  }
}

/**
 * A renewal may be due just when the loop is held up, and is made when that ends: so much of the ttl must be left then.
 * In the order of asking, since the one that is held up would hardly ever come first.
 */
const blocked = [
  { part: 0.6, options: { fair: true, renew: { at: 1 / 3 } } },
  { part: 0.7, options: { fair: true, renew: { at: 1 / 5 } } },
]

/** Harms processes again and again while they work; resolves with what was wrong, and how much was done. */
async function harmed(
  { kind, start, options }: Provider,
  harm: Harm,
): Promise<{ wrong: string[]; harms: number; turns: number }> {
  const backend = await start()
  const opening = { kind, addresses: backend.addresses, options: { ttl, ...options } }
  const fleet = await LockFleet.open(3, opening)
  try {
    const until = machineNow() + least.ms
    const contention = { name: 'job', callers: 2, hold: 10, options: { wait: '60s' } } as const
    const working = new Map<FleetProcess, Promise<unknown>>()
    const begin = (process: FleetProcess): void => {
      const work = process.tell('contend', contention)
      // Those that are killed never say how it was.
      work.catch(() => undefined)
      working.set(process, work)
    }
    fleet.processes.forEach(begin)
    let harms = 0
    while (machineNow() < until || harms < least.harms) {
      await harm(fleet, begin)
      harms++
    }
    await fleet.rest()
    const alive = [...working].filter(([process]) => fleet.processes.includes(process))
    await Promise.all(alive.map(([, work]) => work))
    return { wrong: fleet.referee.wrong(), harms, turns: fleet.referee.turns.length }
  } finally {
    await fleet[Symbol.asyncDispose]()
    await backend.stop()
  }
}

describe.concurrent('there are never two, and fences grow', { timeout: 180_000 }, () => {
  for (const { place, providers, reason } of places) {
    describe.skipIf(reason !== undefined)(`${place}${reason ? ` (${reason})` : ''}`, () => {
      test.for(providers)('while a process is killed each second: $name', async (provider) => {
        const { wrong, harms, turns } = await harmed(provider, kill)
        expect(wrong).toEqual([])
        expect(turns).toBeGreaterThan(harms)
      })
    })
  }

  test.for(blocked)('while an event loop is held up at random for up to $part of a ttl', async ({ part, options }) => {
    const provider = { name: '', kind: 'redis', start: redis, options } as const
    const { wrong, harms, turns } = await harmed(provider, block(part))
    expect(wrong).toEqual([])
    expect(turns).toBeGreaterThan(harms)
  })
})
