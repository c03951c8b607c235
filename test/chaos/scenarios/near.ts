import { setTimeout as pause } from 'node:timers/promises'
import { cutOff, scenario, untilRenewal, type Seen } from '../scenario.ts'
import type { Work } from '../work.ts'

/** How long copies are kept, in milliseconds. */
const nearTtl = 1_500

/** Processes that keep copies of what lives long enough, and change it by key and by tag. */
const copies: Partial<Work> = {
  nearTtl,
  ttl: [500, 3_000],
  cold: 0.05,
  invalidations: 0.02,
  sets: 0.01,
  tags: 3,
  tagInvalidations: 0.01,
}

function served({ figures, heard }: Seen): boolean {
  return heard('near hit') > 100 && figures.writes > 20
}

export const near = [
  scenario({
    name: 'near_no_fault',
    on: 'node',
    what: 'Processes keep copies of what others change all the time: none of them is served once the change is done.',
    hits: 'nobody',
    allowed: { wakeUp: 200 },
    work: copies,
    async fault() {},
    bites: served,
  }),
  scenario({
    name: 'near_cluster',
    on: 'cluster',
    what: 'Likewise on a cluster, where the list of who keeps copies is on another node than most values.',
    hits: 'nobody',
    allowed: { wakeUp: 200 },
    work: copies,
    async fault() {},
    bites: served,
  }),
  scenario({
    name: 'near_connections_cut',
    on: 'node',
    what: 'A connection of some process breaks every 100 ms, now the one and now the other: no copy outlives a change.',
    allowed: { overlap: 400, older: true },
    work: copies,
    async fault(stage) {
      for (const end = stage.now() + 2 * stage.lasts; stage.now() < end; await pause(100)) {
        const { way } = stage.random.pick(stage.processes)
        stage.random.pick(way).cut()
        stage.count('cut')
      }
    },
    bites: (seen) => served(seen) && seen.counted('cut') > 10,
  }),
  scenario({
    name: 'near_subscriber_frozen',
    on: 'node',
    what: 'Messages no longer arrive at a process, and it is not told: its copies are not served, and changes take longer.',
    hits: 'nobody',
    allowed: { wakeUp: 600 },
    work: copies,
    async fault({ victim }) {
      victim.subscriber.blackHole()
      return () => victim.subscriber.heal()
    },
    bites: (seen) => served(seen) && slowest(seen) > 200,
  }),
  scenario({
    name: 'near_messages_late',
    on: 'node',
    what: 'Messages to a process come a fifth of a second late: changes wait for it, and none of its copies outlives one.',
    hits: 'nobody',
    allowed: { wakeUp: 600 },
    work: copies,
    async fault({ victim }) {
      Object.assign(victim.subscriber, { latency: 150, jitter: 100 })
      return () => void Object.assign(victim.subscriber, { latency: 0, jitter: 0 })
    },
    bites: (seen) => served(seen) && slowest(seen) > 140,
  }),
  scenario({
    name: 'near_process_paused',
    on: 'node',
    what: 'A process that keeps copies stands still again and again: what changed meanwhile it does not serve afterwards.',
    hits: 'the victim',
    allowed: { overlap: 50 },
    work: copies,
    async fault(stage) {
      const { victim, random } = stage
      for (const end = stage.now() + 2 * stage.lasts; stage.now() < end; await pause(random.between(20, 200))) {
        victim.pause()
        await pause(random.between(20, 500))
        victim.resume()
      }
    },
    bites: served,
  }),
  scenario({
    name: 'near_process_partitioned',
    on: 'node',
    what: 'A process is cut off from Redis: others wait for it shortly, and it serves its copies no longer than their time.',
    hits: 'the victim',
    allowed: { copies: nearTtl, older: true },
    work: { ...copies, invalidations: 0.05 },
    fault: cutOff,
    bites: (seen) => served(seen) && seen.heard('degraded') > 0,
  }),
  scenario({
    name: 'near_keys_flushed',
    on: 'node',
    what: 'Redis forgets all keys every 200 ms, and who keeps copies with them: when it is over, no copy outlives a change.',
    forgets: true,
    allowed: { overlap: untilRenewal, older: true },
    work: copies,
    async fault(stage) {
      for (const end = stage.now() + stage.lasts; stage.now() < end; await pause(200))
        await stage.servers.client.flushall()
    },
    bites: served,
  }),
  scenario({
    name: 'near_redis_restarted',
    on: 'node',
    what: 'Redis is gone for a second and comes back empty: copies are served until their time is over, or it is back.',
    allowed: { copies: nearTtl, older: true, overlap: untilRenewal },
    work: copies,
    async fault({ servers }) {
      await servers.kill()
      return () => servers.restart()
    },
    bites: (seen) => served(seen) && seen.heard('degraded') > 0,
  }),
]

/** How long the slowest change took, in milliseconds. */
function slowest({ history }: Seen): number {
  return Math.max(...[...history.writes.values()].map(({ at, writtenAt }) => writtenAt - at))
}
