import { setTimeout as pause } from 'node:timers/promises'
import { joined, player, within, type History, type Load } from '../../support/history.ts'
import { cutOff, scenario, untilLeaseEnds, untilRenewal, type Scenario, type Seen } from '../scenario.ts'
import type { Kind } from '../surroundings.ts'
import type { Work } from '../work.ts'

/** More loads than their source allows at a time, all the time. */
const limit = 8
const limited: Partial<Work> = {
  limit,
  hotKeys: 40,
  coldKeys: 40,
  cold: 0.15,
  ttl: [100, 250],
  loadTime: [20, 100],
  slow: 0,
  nested: 0,
  source: { throws: 0.02 },
}

/** How soon after a fault a source is used up to its limit again, and no further, in milliseconds. */
const backWithin = 1_000

/** What may be passed while a fault lasts, and until its consequences are over: see "What it does not promise" in docs/sources.md. */
const nothingMore = 0
const asMuchAgain = limit

interface Moment {
  readonly at: number
  readonly running: number
}

/** How many loads run at each moment at which that changes. */
function moments(history: History): Moment[] {
  const ends = ({ loadedAt, process, at }: Load): number =>
    Math.min(loadedAt, Math.max(at, history.killedAt(process)), history.end)
  const changes = [...history.loads.values()].flatMap((load) => [
    { at: load.at, by: 1 },
    { at: ends(load), by: -1 },
  ])
  let running = 0
  return changes
    .toSorted((one, other) => one.at - other.at || one.by - other.by)
    .map(({ at, by }) => ({ at, running: (running += by) }))
}

/** Whether more loads ran at a time than may. */
function tooManyAtOnce(history: History, more: number): string[] {
  const most = Math.max(...moments(history).map(({ running }) => running))
  return most <= limit + more ? [] : [`15: ${most} loads ran at a time, and ${limit + more} may`]
}

/** Whether the source is used up to its limit soon after the fault, and no further. */
function notBack(history: History): string[] {
  const [{ to } = { to: 0 }] = history.faults()
  const processes = [...new Set([...history.loads.values()].map(({ process }) => process)), player]
  const stops = joined(processes.flatMap((process) => history.stops(process).filter((stop) => stop.to < Infinity)))
  const after = (at: number): number => at - to - within(stops, to, at)
  const all = moments(history).filter(({ at }) => at > to)
  const full = all.find(({ running }) => running === limit)
  const above = all.findLast(({ running }) => running > limit)
  return [
    ...(full !== undefined && after(full.at) <= backWithin
      ? []
      : [`15: the source was not used up to its limit within ${backWithin} ms`]),
    ...(above === undefined || after(above.at) <= backWithin
      ? []
      : [`15: ${above.running} loads ran ${after(above.at).toFixed(0)} ms after the fault`]),
  ]
}

/** A fault on a fleet whose source has a limit. */
function limitedScenario<On extends Kind>(
  given: Pick<Scenario<On>, 'name' | 'on' | 'what' | 'fault'> & Partial<Scenario<On>>,
  more: number,
): Scenario {
  const { bites = () => true, allowed = {}, ...rest } = given
  return scenario<On>({
    ...rest,
    work: limited,
    allowed,
    bites: (seen: Seen) => seen.heard('queued') > 100 && bites(seen),
    holds: ({ history }) => tooManyAtOnce(history, more),
    holdsInTime: ({ history }) => notBack(history),
  })
}

export const limits = [
  limitedScenario<'node'>(
    {
      name: 'limited_process_killed',
      on: 'node',
      what: 'One process is killed and one stands still: their permits go to others, and the limit holds.',
      // Loads of a process that stood still took long, so those that wait seem to come too late.
      allowed: { overlap: 50, errors: ['OVERLOADED'] },
      async fault(stage) {
        const { victim, others } = stage
        const [paused = victim] = others
        await victim.kill()
        paused.pause()
        await pause(stage.lasts)
        paused.resume()
        await stage.replace(victim)
      },
    },
    nothingMore,
  ),
  limitedScenario<'node'>(
    {
      name: 'limited_redis_flushed',
      on: 'node',
      what: 'Redis loses all keys, again and again: it learns anew who holds permits.',
      allowed: { overlap: untilRenewal },
      async fault({ servers, lasts }) {
        for (let time = 0; time < 3; time++) {
          await servers.client.flushall()
          await pause(lasts / 3)
        }
      },
    },
    asMuchAgain,
  ),
  limitedScenario<'node'>(
    {
      name: 'limited_redis_restarted',
      on: 'node',
      what: 'Redis is gone for a second, and comes back empty: each process goes on with its share.',
      allowed: { older: true, overlap: untilRenewal },
      async fault({ servers }) {
        await servers.kill()
        return () => servers.restart()
      },
      bites: ({ figures }) => figures.alone > 0,
    },
    asMuchAgain,
  ),
  limitedScenario<'node'>(
    {
      name: 'limited_redis_frozen',
      on: 'node',
      what: 'Redis answers nothing for a second: each process goes on with its share.',
      allowed: { older: true },
      async fault({ servers }) {
        await servers.freeze()
        return () => servers.thaw()
      },
      bites: ({ figures }) => figures.alone > 0,
    },
    asMuchAgain,
  ),
  limitedScenario<'node'>(
    {
      name: 'limited_process_cut_off',
      on: 'node',
      what: 'A process does not reach Redis: it goes on with its share, and the others with the rest.',
      hits: 'the victim',
      allowed: { older: true },
      fault: cutOff,
      bites: ({ figures }) => figures.alone > 0,
    },
    asMuchAgain,
  ),
  limitedScenario<'sentinel'>(
    {
      name: 'limited_failover',
      on: 'sentinel',
      what: 'The master crashes, and a replica takes its place: each process goes on with its share meanwhile.',
      allowed: { older: true, overlap: untilLeaseEnds },
      forgets: true,
      async fault(stage) {
        const old = await stage.servers.master()
        if ((await stage.servers.failover('kill')) !== old) stage.count('moved')
        await Promise.all(stage.processes.map((each) => each.connected()))
      },
      tidy: ({ servers }) => servers.restore(),
      bites: ({ counted }) => counted('moved') > 0,
    },
    asMuchAgain,
  ),
]
