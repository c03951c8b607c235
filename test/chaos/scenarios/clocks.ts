import { tooMany } from '../figures.ts'
import { scenario, untilRenewal, type Scenario } from '../scenario.ts'

export const clocks = [
  dateWrong('ahead', 60_000),
  dateWrong('behind', -60_000),
  serverClock('ahead', 60_000),
  serverClock('behind', -60_000),
]

function dateWrong(where: 'ahead' | 'behind', ms: number): Scenario {
  return scenario({
    name: `process_clock_${where}`,
    on: 'node',
    what: `The wall clock of a process is a minute ${where} for a while: nobody notices.`,
    hits: 'nobody',
    allowed: { wakeUp: 200 },
    async fault(stage) {
      await stage.victim.shiftDate(ms)
      stage.count('shifted')
      return () => stage.victim.shiftDate(0)
    },
    bites: ({ counted, figures }) => counted('shifted') > 0 && figures.loads > 0,
    holds: ({ figures }) => tooMany(figures),
  })
}

/** Leases and values end sooner, or later, by as much; a holder learns with its next renewal that its lease has ended. */
function serverClock(where: 'ahead' | 'behind', ms: number): Scenario {
  return scenario({
    name: `redis_clock_${where}`,
    on: 'clock',
    what: `The clock of Redis is set a minute ${where} and back again: nobody gets an error.`,
    hits: 'nobody',
    // What is read says nothing of the clock; a process learns of it with its next claim.
    allowed: { overlap: untilRenewal, pastTime: 1_000 },
    async fault(stage) {
      await stage.servers.shiftClock(ms)
      stage.count('shifted')
      return async () => {
        await stage.servers.shiftClock(0)
        stage.count('clock set back')
      }
    },
    bites: ({ counted, figures }) => counted('shifted') > 0 && figures.loads > 0,
  })
}
