import { setTimeout as pause } from 'node:timers/promises'
import type { Failover } from '../../support/servers.ts'
import { tooMany } from '../figures.ts'
import { tokensOf } from '../sampler.ts'
import { cutOff, scenario, untilLeaseEnds, type Scenario, type Seen } from '../scenario.ts'
import { manyLoads } from '../settings.ts'
import type { Stage } from '../stage.ts'
import type { Work } from '../work.ts'

/** Most calls bring a load. */
const eightyKeys: Partial<Work> = { hotKeys: 80, ttl: [100, 400], loadTime: [100, 400] }

export const sentinel = [
  scenario({
    name: 'sentinel_no_fault',
    on: 'sentinel',
    what: 'Nothing is done to a fleet on a group under Sentinel: one load at a time, and no error.',
    hits: 'nobody',
    allowed: { wakeUp: 200 },
    async fault() {},
    bites: ({ figures }) => figures.loads > 50,
    holds: ({ figures }) => tooMany(figures),
  }),
  failover('ordered', 'command', 'The master is told to give its place to a replica'),
  failover('by_crash', 'kill', 'The master crashes, and a replica takes its place'),
  failover('by_silence', 'freeze', 'The master falls silent, and a replica takes its place'),
  failover('many_keys', 'command', 'The master gives its place away while eighty keys are loaded', {
    work: eightyKeys,
  }),
  failover('many_keys_detector', 'command', 'Likewise where clients ask the sentinels for the master all the time', {
    work: eightyKeys,
    client: () => ({ failoverDetector: true }),
  }),
  failover('lagging_replica', 'kill', 'The master crashes with half a second that no replica has', {
    work: manyLoads,
    quick: { leaseTtl: 5_000 },
    async before(stage) {
      const master = await stage.servers.master()
      await stage.servers.holdReplicasBack()
      const replicated = master === undefined ? new Set<string>() : await tokensOf(master)
      await pause(stage.random.between(450, 550))
      const held = master === undefined ? replicated : await tokensOf(master)
      stage.count('ended since', [...replicated].filter((token) => !held.has(token)).length)
    },
    bites: ({ counted }) => counted('ended since') > 0,
  }),
  scenario({
    name: 'sentinel_process_partitioned',
    on: 'sentinel',
    what: 'A process reaches neither the servers nor the sentinels: its callers alone notice.',
    hits: 'the victim',
    network: true,
    allowed: { older: true, healsWithin: 2_500 },
    fault: cutOff,
    bites: ({ figures, heard }) => figures.alone > 0 && heard('degraded') > 0,
  }),
]

function failover(
  name: string,
  how: Failover,
  what: string,
  {
    before = async () => {},
    bites = () => true,
    ...rest
  }: Pick<Scenario<'sentinel'>, 'work' | 'quick' | 'client'> & {
    before?: (stage: Stage<'sentinel'>) => Promise<void>
    bites?: (seen: Seen) => boolean
  } = {},
): Scenario {
  return scenario({
    name: `sentinel_failover_${name}`,
    on: 'sentinel',
    what: `${what}: everybody is answered in time, and two seconds after that all is normal.`,
    allowed: { older: true, overlap: untilLeaseEnds, healsWithin: 2_000 },
    forgets: true,
    async fault(stage) {
      const old = await stage.servers.master()
      await before(stage)
      if ((await stage.servers.failover(how)) !== old) stage.count('moved')
      if (how === 'kill') await Promise.all(stage.processes.map((each) => each.connected()))
    },
    tidy: ({ servers }) => servers.restore(),
    bites: (seen) => seen.counted('moved') > 0 && bites(seen),
    ...rest,
  })
}
