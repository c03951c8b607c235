import { setTimeout as pause } from 'node:timers/promises'
import * as scripts from '../../../src/redis/scripts.ts'
import type { Script } from '../../../src/redis/scripts.ts'
import type { Process } from '../process.ts'
import { toldLate, tooMany } from '../figures.ts'
import { scenario, untilLeaseEnds, type Scenario, type Seen } from '../scenario.ts'

/** All that lies between some processes and their servers. */
function ways(processes: readonly Process[]): Process['way'] {
  return processes.flatMap(({ way }) => way)
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
    async fault({ processes }) {
      for (const each of ways(processes)) Object.assign(each, { latency: 20, jitter: 40 })
      return () => {
        for (const each of ways(processes)) Object.assign(each, { latency: 0, jitter: 0 })
      }
    },
    bites: ({ figures }) => figures.slowest > 80,
  }),
  scenario({
    name: 'process_far',
    on: 'node',
    what: 'Everything takes a process 80 to 160 ms each way, and others invalidate all the time: it serves nothing old.',
    hits: 'nobody',
    work: { hotKeys: 3, invalidations: 0.06 },
    async fault({ victim }) {
      for (const each of ways([victim])) Object.assign(each, { latency: 80, jitter: 80 })
      return () => {
        for (const each of ways([victim])) Object.assign(each, { latency: 0, jitter: 0 })
      }
    },
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
    async fault({ processes }) {
      for (const { subscriber } of processes) Object.assign(subscriber, { latency: 400, jitter: 200 })
      return () => {
        for (const { subscriber } of processes) Object.assign(subscriber, { latency: 0, jitter: 0 })
      }
    },
    bites: ({ history }) => history.writes.size > 60 && toldLate(history, 200) > 0,
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
    holds: ({ figures, heard }) => [...tooMany(figures), ...refusals(heard)],
  }),
  scenario({
    name: 'requests_delivered_twice',
    on: 'node',
    what: 'Requests reach Redis twice, the second time on another connection: nobody notices, and no lease is lost.',
    hits: 'nobody',
    work: { invalidations: 0, sets: 0, slow: 0.3, source: { throws: 0.1 }, leaseTtl: 600 },
    async fault(stage) {
      const { claim, fill, renew, settle } = scripts
      for (let round = 0; round < 3; round++) {
        for (const { sha1 } of [claim, fill, renew, settle]) {
          await stage.victim.commands.repeat(sha1)
          stage.count('repeated')
        }
      }
    },
    bites: ({ counted }) => counted('repeated') === 12,
    holds: ({ figures, heard }) => [...tooMany(figures), ...refusals(heard)],
  }),
  scenario({
    name: 'connections_half_open',
    on: 'node',
    what: 'Redis has ended the connections of a process, which is not told: its callers alone notice, and its leases go.',
    hits: 'the victim',
    allowed: { older: true, overlap: untilLeaseEnds },
    async fault({ victim }) {
      for (const each of ways([victim])) each.abandon()
      // In the end its system gives them up.
      return () => {
        for (const each of ways([victim])) each.cut()
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
    async fault({ victim }) {
      for (const each of ways([victim])) each.blackHole()
      return () => {
        for (const each of ways([victim])) each.heal()
      }
    },
    bites: ({ figures, heard }) => figures.alone > 0 && heard('degraded') > 0,
  }),
  scenario({
    name: 'process_shut_out',
    on: 'node',
    what: 'A process loses its connections and gets no new ones: its callers alone notice.',
    hits: 'the victim',
    allowed: { older: true, overlap: untilLeaseEnds },
    async fault({ victim }) {
      for (const each of ways([victim])) each.refuse()
      return () => {
        for (const each of ways([victim])) each.accept()
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
  replyLost('claim', scripts.claim),
  replyLost('fill', scripts.fill),
  replyLost('renew', scripts.renew),
  replyLost('overwrite', scripts.overwrite),
  replyLost('settle', scripts.settle),
]

/** A lost reply never costs a lease: the command is sent again, and answered as before. */
function replyLost(script: string, { sha1 }: Script): Scenario {
  return scenario({
    name: `reply_to_${script}_lost`,
    on: 'node',
    what: `Replies to ${script} are lost after it has run, and it is sent again: nobody notices, and no lease is lost.`,
    hits: 'nobody',
    // Nothing but a write may void a lease, so where writes are not what is tested there are none.
    work: {
      slow: 0.3,
      source: { throws: script === 'settle' ? 0.4 : 0.1 },
      // Longer than the client needs to connect again: sent again after the next one, a fill is refused, as it must be.
      ttl: [600, 1_000],
      ...(script === 'overwrite' ? { invalidations: 0.03 } : { invalidations: 0, sets: 0 }),
      ...(script === 'renew' ? { leaseTtl: 600 } : {}),
    },
    // Long, so that a lease that nobody knows of is noticed, but where it is to be renewed.
    ...(script === 'renew' ? {} : { quick: { leaseTtl: 5_000 } }),
    async fault(stage) {
      const losing = stage.processes.map(async ({ commands }) => {
        for (let round = 0; round < 3; round++) {
          await commands.loseReplyTo(sha1)
          stage.count('lost')
          // Until it has been sent again and answered: what is lost again and again is lost for good, in the end.
          await pause(stage.random.between(500, 700))
        }
      })
      await Promise.all(losing)
    },
    bites: ({ counted }) => counted('lost') >= 12,
    holds: ({ figures, heard }) => [...tooMany(figures), ...(script === 'overwrite' ? [] : refusals(heard))],
  })
}

function refusals(heard: Seen['heard']): string[] {
  const lost = heard('refused') + heard('lost')
  return lost > 0 ? [`${lost} loads lost their lease`] : []
}
