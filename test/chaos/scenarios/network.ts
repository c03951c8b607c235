import { setTimeout as pause } from 'node:timers/promises'
import type { Process } from '../process.ts'
import { lostLeases, toldLate, tooMany } from '../figures.ts'
import { cutOff, scenario, untilLeaseEnds } from '../scenario.ts'

/** All that lies between some processes and their servers. */
function ways(processes: readonly Process[]): Process['way'] {
  return processes.flatMap(({ way }) => way)
}

/** The ways of the messages to some processes. */
function toSubscribers(processes: readonly Process[]): Process['way'] {
  return processes.map(({ subscriber }) => subscriber)
}

/** Everything takes longer on these ways, until the function that this returns is called. */
function slowDown(some: Process['way'], times: { readonly latency: number; readonly jitter: number }): () => void {
  for (const each of some) Object.assign(each, times)
  return () => {
    for (const each of some) Object.assign(each, { latency: 0, jitter: 0 })
  }
}

/** Whoever lost both its connections is taken for dead, and learns when it is back, a moment later, that it is not. */
const untilReconnected = 400

export const network = [
  scenario({
    name: 'network_slow',
    on: 'node',
    what: 'Everything takes 20 to 60 ms each way: nobody notices but by waiting.',
    hits: 'nobody',
    allowed: { wakeUp: 500 },
    fault: async ({ processes }) => slowDown(ways(processes), { latency: 20, jitter: 40 }),
    bites: ({ figures }) => figures.slowest > 80,
  }),
  scenario({
    name: 'process_far',
    on: 'node',
    what: 'Everything takes a process 80 to 160 ms each way, and others invalidate all the time: it serves nothing old.',
    hits: 'nobody',
    work: { hotKeys: 3, invalidations: 0.06 },
    fault: async ({ victim }) => slowDown(victim.way, { latency: 80, jitter: 80 }),
    bites: ({ figures, history }) => figures.slowest > 300 && history.writes.size > 60,
  }),
  scenario({
    name: 'messages_late',
    on: 'node',
    what: 'Messages come half a second late, and others invalidate all the time: nobody is given what has become old.',
    hits: 'nobody',
    allowed: { overlap: 350, wakeUp: 600 },
    work: { hotKeys: 3, invalidations: 0.06 },
    quick: { leaseTtl: 3_000 },
    // Longer than other faults: invalidations void most loads before a caller of another process misses the message.
    async fault({ processes, lasts }) {
      const end = slowDown(toSubscribers(processes), { latency: 400, jitter: 200 })
      await pause(3 * lasts)
      end()
    },
    bites: ({ history }) => history.writes.size > 60 && toldLate(history, 200) > 0,
  }),
  scenario({
    name: 'subscribers_late',
    on: 'node',
    what: 'Messages come two seconds late to everybody: whoever waits asks again, and nobody is told what is past.',
    hits: 'nobody',
    allowed: { wakeUp: 600 },
    async fault({ processes, lasts }) {
      const end = slowDown(toSubscribers(processes), { latency: 2_000, jitter: 0 })
      await pause(2_000 + lasts)
      end()
    },
    bites: ({ history }) => toldLate(history, 50) > 0,
  }),
  scenario({
    name: 'connections_cut',
    on: 'node',
    what: 'All connections break at once: commands are sent again, and nobody gets an error.',
    hits: 'nobody',
    allowed: { overlap: untilReconnected },
    async fault(stage) {
      for (const each of ways(stage.processes)) each.cut()
      stage.count('cut')
    },
    bites: ({ counted, heard }) => counted('cut') > 0 && heard('not pushed') >= 4,
  }),
  scenario({
    name: 'connections_cut_again_and_again',
    on: 'node',
    what: 'All connections break every 150 ms: nobody gets an error.',
    allowed: { older: true, overlap: untilReconnected },
    async fault(stage) {
      for (const end = stage.now() + stage.lasts; stage.now() < end; await pause(150)) {
        for (const each of ways(stage.processes)) each.cut()
        stage.count('cut')
      }
    },
    bites: ({ counted, heard }) => counted('cut') > 3 && heard('not pushed') >= 8,
  }),
  scenario({
    name: 'commands_cut',
    on: 'node',
    what: 'The connections for commands break, and those for messages do not: nobody notices, and no lease is lost.',
    hits: 'nobody',
    work: { invalidations: 0, sets: 0, slow: 0.2 },
    async fault(stage) {
      for (let round = 0; round < 3; round++) {
        for (const { commands } of stage.processes) commands.cut()
        stage.count('cut')
        await pause(500)
      }
    },
    bites: ({ counted }) => counted('cut') === 3,
    holds: ({ figures, heard }) => [...tooMany(figures), ...lostLeases(heard)],
  }),
  scenario({
    name: 'connections_half_open',
    on: 'node',
    what: 'Redis has ended the connections of a process, which is not told: its callers alone notice, and its leases go.',
    hits: 'the victim',
    allowed: { older: true, overlap: untilLeaseEnds },
    async fault({ victim }) {
      for (const each of victim.way) each.abandon()
      // In the end its system gives them up.
      return () => {
        for (const each of victim.way) each.cut()
      }
    },
    bites: ({ heard }) => heard('degraded') > 0,
  }),
  scenario({
    name: 'process_partitioned',
    on: 'node',
    what: 'Nothing reaches a process, and nothing comes from it: its callers alone notice.',
    hits: 'the victim',
    allowed: { older: true },
    fault: cutOff,
    bites: ({ figures, heard }) => figures.alone > 0 && heard('degraded') > 0,
  }),
  scenario({
    name: 'process_shut_out',
    on: 'node',
    what: 'A process loses its connections and gets no new ones: its callers alone notice.',
    hits: 'the victim',
    allowed: { older: true, overlap: untilLeaseEnds },
    async fault({ victim }) {
      for (const each of victim.way) each.refuse()
      return () => {
        for (const each of victim.way) each.accept()
      }
    },
    bites: ({ figures }) => figures.alone > 0,
  }),
  scenario({
    name: 'subscriber_cut',
    on: 'node',
    what: 'The connections for messages break and are refused: whoever waits asks again, and nobody gets an error.',
    hits: 'nobody',
    allowed: { wakeUp: 600 },
    work: { slow: 0.3 },
    quick: { leaseTtl: 3_000 },
    async fault({ processes }) {
      for (const { subscriber } of processes) subscriber.refuse()
      return () => {
        for (const { subscriber } of processes) subscriber.accept()
      }
    },
    bites: ({ history, heard }) => heard('not pushed') >= 4 && toldLate(history, 50) > 0,
  }),
  scenario({
    name: 'subscriber_frozen',
    on: 'node',
    what: 'Messages no longer arrive, and nobody is told: whoever waits asks again, and nobody gets an error.',
    hits: 'nobody',
    allowed: { wakeUp: 600 },
    quick: { leaseTtl: 3_000 },
    async fault({ processes }) {
      for (const { subscriber } of processes) subscriber.blackHole()
      return () => {
        for (const { subscriber } of processes) subscriber.heal()
      }
    },
    bites: ({ history }) => toldLate(history, 50) > 0,
  }),
]
