import { setTimeout as pause } from 'node:timers/promises'
import type { Failover, RedisServer } from '../../support/servers.ts'
import { endedMeanwhile, gapsAfterDeath, tooLong, tooMany } from '../figures.ts'
import { cutOff, scenario, untilLeaseEnds, type Scenario } from '../scenario.ts'
import { manyLoads } from '../settings.ts'
import type { Stage } from '../stage.ts'
import { hotKey, namespace } from '../work.ts'

/** Fewer moves of slots than this prove nothing. */
const fewestMoves = 6

export const cluster = [
  scenario({
    name: 'cluster_no_fault',
    on: 'cluster',
    what: 'Nothing is done to a fleet on a cluster: one load at a time, and no error.',
    hits: 'nobody',
    allowed: { wakeUp: 200 },
    async fault() {},
    bites: ({ figures }) => figures.loads > 50,
    holds: ({ figures }) => tooMany(figures),
  }),
  failover('ordered', 'command', 'A master gives its place to its replica'),
  failover('by_crash', 'kill', 'A master crashes, and its replica takes its place'),
  failover('by_silence', 'freeze', 'A master falls silent, and its replica takes its place', {
    'node-redis': 'it does not notice the silence of a connection that it writes to',
  }),
  scenario({
    name: 'cluster_takeover_while_loads_end',
    on: 'cluster',
    what: 'Replicas take the places of their masters without asking, while loads end: no lease is left behind.',
    allowed: { older: true, overlap: untilLeaseEnds, healsWithin: 2_000 },
    forgets: true,
    work: manyLoads,
    async fault(stage) {
      const { servers } = stage
      for (const master of await servers.mastersNow())
        if ((await servers.failover(master, 'takeover')) !== master) stage.count('moved')
    },
    tidy: ({ servers }) => servers.restore(),
    bites: ({ counted, history }) => counted('moved') === 3 && endedMeanwhile(history) > 5,
  }),
  scenario({
    name: 'slots_migrating',
    on: 'cluster',
    // A claim names two keys. While their slot moves and either is missing, Redis says TRYAGAIN, for as long as it takes.
    what: 'The slots of hot keys move to other masters and back, key by key: no error reaches a caller.',
    async fault(stage) {
      const end = stage.now() + 2 * stage.lasts
      // On a busy machine that moves fewer slots than are needed to prove something.
      for (let number = 0; stage.now() < end || stage.counted('moved') < fewestMoves; number++)
        await moveSlotOf(stage, number % stage.work.hotKeys)
    },
    bites: ({ counted }) => counted('moved') >= fewestMoves,
    holds: ({ history }) =>
      [...history.writes.values()].flatMap(({ write, error }) =>
        error === undefined ? [] : [`${write} got ${error}`],
      ),
  }),
  scenario({
    name: 'cluster_process_killed',
    on: 'cluster',
    what: 'A process is killed while it loads: nobody else notices but by waiting, and its lease is taken over soon.',
    hits: 'nobody',
    work: { slow: 0.3 },
    quick: { leaseTtl: 5_000 },
    async fault(stage) {
      const { victim } = stage
      while (!victim.loads) await pause(5)
      await victim.kill()
      return () => stage.replace(victim)
    },
    bites: ({ history }) => gapsAfterDeath(history).length > 0,
    holdsInTime: ({ history }) => tooLong(gapsAfterDeath(history), 1_000),
  }),
  scenario({
    name: 'cluster_process_partitioned',
    on: 'cluster',
    what: 'A process reaches no node: its callers alone notice.',
    hits: 'the victim',
    network: true,
    allowed: { older: true, healsWithin: 2_500 },
    fault: cutOff,
    bites: ({ figures }) => figures.alone > 0,
  }),
]

function failover(name: string, how: Failover, what: string, without: Scenario['without'] = {}): Scenario {
  return scenario({
    name: `cluster_failover_${name}`,
    on: 'cluster',
    without,
    what: `${what}: everybody is answered in time, and two seconds after that all is normal.`,
    allowed: { older: true, overlap: untilLeaseEnds, healsWithin: 2_000 },
    forgets: true,
    async fault(stage) {
      const before = await ofHotKey(stage, 0)
      const after = await stage.servers.failover(before, how)
      if (before !== after) stage.count('moved')
    },
    tidy: ({ servers }) => servers.restore(),
    bites: ({ counted }) => counted('moved') > 0,
  })
}

function ofHotKey({ servers }: Stage<'cluster'>, number: number): Promise<RedisServer> {
  return servers.masterOf(`{${namespace}:${hotKey(number)}}`)
}

/** Moves the slot of a hot key to another master, with a little time between the steps. */
async function moveSlotOf(stage: Stage<'cluster'>, number: number): Promise<void> {
  const { servers } = stage
  const slot = await servers.slotOf(`{${namespace}:${hotKey(number)}}`)
  const from = await servers.masterOfSlot(slot)
  const others = (await servers.mastersNow()).filter((master) => master !== from)
  await servers.moveSlots([slot], stage.random.pick(others), { stepEvery: 20 })
  stage.count('moved')
}
