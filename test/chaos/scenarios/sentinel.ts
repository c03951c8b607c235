import type { Failover } from '../../support/servers.ts'
import { tooMany } from '../figures.ts'
import { scenario, untilLeaseEnds, type Scenario } from '../scenario.ts'

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
  scenario({
    name: 'sentinel_process_partitioned',
    on: 'sentinel',
    what: 'A process reaches neither the servers nor the sentinels: its callers alone notice.',
    hits: 'the victim',
    allowed: { older: true, healsWithin: 2_500 },
    async fault({ victim }) {
      for (const each of victim.way) each.blackHole()
      return () => {
        for (const each of victim.way) each.heal()
      }
    },
    bites: ({ figures, heard }) => figures.alone > 0 && heard('degraded') > 0,
  }),
]

function failover(name: string, how: Failover, what: string): Scenario {
  return scenario({
    name: `sentinel_failover_${name}`,
    on: 'sentinel',
    what: `${what}: everybody is answered in time, and two seconds after that all is normal.`,
    allowed: { older: true, overlap: untilLeaseEnds, healsWithin: 2_000 },
    forgets: true,
    async fault(stage) {
      const before = await stage.servers.master()
      const after = await stage.servers.failover(how)
      if (before !== after) stage.count('moved')
    },
    async tidy({ servers }) {
      await servers.restore()
    },
    bites: ({ counted }) => counted('moved') > 0,
  })
}
