import { setTimeout as pause } from 'node:timers/promises'
import * as scripts from '../../../src/redis/scripts.ts'
import type { Script } from '../../../src/redis/scripts.ts'
import { lostLeases, tooMany } from '../figures.ts'
import { scenario, type Scenario } from '../scenario.ts'

/** Slow loads are renewed, and a lease outlasts a lost reply, a new connection and a process that stands still. */
const renewed = { leaseTtl: 1_500 }

/** What has run already is run again. */
export const replies = [
  scenario({
    name: 'requests_delivered_twice',
    on: 'node',
    what: 'Requests reach Redis twice, the second time on another connection: nobody notices, and no lease is lost.',
    hits: 'nobody',
    work: { invalidations: 0, sets: 0, slow: 0.3, source: { throws: 0.1 }, ...renewed },
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
    holds: ({ figures, heard }) => [...tooMany(figures), ...lostLeases(heard)],
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
      ...(script === 'renew' ? renewed : {}),
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
    holds: ({ figures, heard }) => [...tooMany(figures), ...(script === 'overwrite' ? [] : lostLeases(heard))],
  })
}
