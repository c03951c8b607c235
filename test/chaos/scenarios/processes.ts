import { setTimeout as pause } from 'node:timers/promises'
import { until } from '../../../tools/until.mjs'
import { figuresOf, gapsAfterClose, gapsAfterDeath, toldLate, tooLong } from '../figures.ts'
import type { History } from '../../support/history.ts'
import type { Process } from '../process.ts'
import { scenario } from '../scenario.ts'
import { hotKey } from '../work.ts'
import * as scripts from '../../../src/redis/scripts.ts'

/** The ttl of what must not be there any more, in milliseconds, so that it does not vanish by itself. */
const longLived = 5_000

/** So that there is always a load under way that has time to come to grief. */
const manySlowLoads = { slow: 0.3 }

/** Their leases run out while their process stands still, and no write voids them before. */
const leasesThatRunOut = { ...manySlowLoads, leaseTtl: 600, invalidations: 0, sets: 0 }

/** Whether another process has loaded what a holder that stood still was loading. */
function takenOver(history: History): boolean {
  return figuresOf(history).extra > 0
}

/** Lets a process stand still while it loads; again, if its load had ended before, as it may on a busy machine. */
async function untilItLosesALease(process: Process, standStill: () => Promise<void>): Promise<void> {
  for (let round = 0; round < 3 && !process.hasLostLease; round++) {
    await until('the victim loads', () => process.loads)
    await standStill()
    // It says so soon after it goes on; if not, its callers have had a moment, so that not all their patience is spent.
    await until('the victim says that it has lost a lease', () => process.hasLostLease, 700).catch(() => undefined)
  }
}

export const processes = [
  scenario({
    name: 'process_killed',
    on: 'node',
    what: 'A process is killed while it loads: nobody else notices but by waiting, and its lease is taken over soon.',
    hits: 'nobody',
    work: manySlowLoads,
    quick: { leaseTtl: 5_000 },
    async fault(stage) {
      const { victim } = stage
      await until('the victim loads', () => victim.loads)
      await victim.kill()
      return () => stage.replace(victim)
    },
    bites: ({ history }) => gapsAfterDeath(history).length > 0,
    // Half a second for the takeover, and as much for a busy machine; its lease would have lived for five.
    holdsInTime: ({ history }) => tooLong(gapsAfterDeath(history), 1_000),
  }),
  scenario({
    name: 'leader_gone',
    on: 'node',
    what: 'All loads are in two halves. A leader dies, and another leads soon; others never call, are skipped, and then everybody leads.',
    allowed: { errors: ['LOAD_TIMEOUT'], healsWithin: 3_500 },
    work: { ...manySlowLoads, halves: 1, nested: 0, hardTimeout: 1_500, source: {}, invalidations: 0, sets: 0 },
    quick: { leaseTtl: 5_000 },
    async fault(stage) {
      const { victim } = stage
      await stage.adjust({ source: { hangs: 0.1 } })
      await until('the victim leads', () => victim.loads)
      await victim.kill()
      return async () => {
        await stage.replace(victim)
        await stage.adjust({ source: {} })
      }
    },
    bites: ({ history, figures }) => gapsAfterDeath(history).length > 0 && (figures.answers['LOAD_TIMEOUT'] ?? 0) > 0,
    holdsInTime: ({ history }) => tooLong(gapsAfterDeath(history), 1_000),
  }),
  scenario({
    name: 'process_paused',
    on: 'node',
    what: 'A process stands still for longer than its leases live: others load, and what it does when it goes on is void.',
    hits: 'nobody',
    allowed: { overlap: 50 },
    work: leasesThatRunOut,
    async fault(stage) {
      const { victim } = stage
      await untilItLosesALease(victim, async () => {
        victim.pause()
        await pause(stage.lasts)
        victim.resume()
      })
    },
    bites: ({ history }) => takenOver(history),
  }),
  scenario({
    name: 'event_loop_blocked',
    on: 'node',
    what: 'An event loop does not turn for longer than a lease lives: others load, and nobody else notices.',
    hits: 'nobody',
    allowed: { overlap: 50 },
    work: leasesThatRunOut,
    async fault(stage) {
      const { victim } = stage
      await untilItLosesALease(victim, async () => {
        const { lasts } = stage
        await victim.block(lasts)
        await pause(lasts)
      })
    },
    bites: ({ history }) => takenOver(history),
  }),
  scenario({
    name: 'all_stopped_and_resumed',
    on: 'node',
    what: 'All processes stand still at once, and go on: their loads end as if nothing had been, or are void.',
    hits: 'nobody',
    allowed: { overlap: 50 },
    work: manySlowLoads,
    // Voided twice, a caller loads without a lease once half of its patience is over, and the pause takes a part of that.
    quick: { waitTimeouts: [8_000] },
    async fault({ processes, victim }) {
      await until('the victim loads', () => victim.loads)
      for (const each of processes) each.pause()
      return () => {
        for (const each of processes) each.resume()
      }
    },
    bites: ({ history }) => [0, 1, 2, 3].every((process) => history.stood(process, 0, history.end) > 900),
  }),
  scenario({
    name: 'fill_held_back',
    on: 'node',
    what: 'The fill of a process is held back beyond its lease, and its key is invalidated meanwhile: it is refused.',
    hits: 'the victim',
    allowed: { older: true },
    async fault(stage) {
      const { victim } = stage
      const [other = victim] = stage.others
      await victim.commands.stopAt(scripts.fill.sha1)
      stage.count('held back')
      for (let number = 0; number < stage.work.hotKeys; number++) await other.write('invalidate', hotKey(number))
      return () => victim.commands.heal()
    },
    bites: ({ counted, heard }) => counted('held back') > 0 && heard('degraded') > 0,
  }),
  scenario({
    name: 'fill_after_its_ttl',
    on: 'node',
    what: 'The fills of a process arrive when the time of their values is over: nobody is given one who asked after it.',
    hits: 'the victim',
    work: { ttl: [100, 200], graces: [0], slow: 0 },
    async fault(stage) {
      const { victim, random } = stage
      for (let round = 0; round < 6; round++) {
        await victim.commands.stopAt(scripts.fill.sha1)
        stage.count('held back')
        // Shorter than the deadline of a command: the fill is accepted.
        await pause(random.between(200, 400))
        victim.commands.heal()
        await pause(100)
      }
    },
    bites: ({ counted, history }) => counted('held back') === 6 && toldLate(history, 150) > 0,
  }),
  scenario({
    name: 'set_held_back',
    on: 'node',
    what: 'The sets of a process are held back until it has given them up, and others have written since: they are void.',
    hits: 'the victim',
    allowed: { older: true },
    async fault(stage) {
      const { victim } = stage
      const [other = victim] = stage.others
      victim.commands.blackHole()
      const keys = Array.from({ length: stage.work.hotKeys }, (_, number) => hotKey(number))
      await Promise.all(keys.map((key) => victim.write('set', key, longLived)))
      await Promise.all(keys.map((key) => other.write('set', key, longLived)))
      stage.count('overtaken', keys.length)
      victim.commands.heal()
    },
    bites: ({ counted }) => counted('overtaken') > 0,
  }),
  scenario({
    name: 'process_closed',
    on: 'node',
    what: 'A cache is closed under load: its own callers get CLOSED, and others take its loads over at once.',
    hits: 'the victim',
    allowed: { errors: ['CLOSED'] },
    work: manySlowLoads,
    quick: { leaseTtl: 5_000 },
    async fault(stage) {
      const { victim } = stage
      await until('the victim loads', () => victim.loads)
      await victim.close(100)
      return () => stage.retire(victim)
    },
    bites: ({ figures, history }) => (figures.answers['CLOSED'] ?? 0) > 0 && gapsAfterClose(history).length > 0,
    // Sooner than the lease of a silent process is taken over.
    holdsInTime: ({ history }) => tooLong(gapsAfterClose(history), 250),
  }),
  scenario({
    name: 'rolling_restart',
    on: 'node',
    what: 'One process after the other is ended in order and replaced: nobody gets an error.',
    hits: 'nobody',
    async fault(stage) {
      for (const each of stage.processes.slice(0, 3)) {
        await stage.retire(each)
        stage.count('replaced')
      }
    },
    bites: ({ counted }) => counted('replaced') === 3,
  }),
]
