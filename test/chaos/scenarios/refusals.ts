import { setTimeout as pause } from 'node:timers/promises'
import { failToSave, letSave, occupy, pauseWrites, refusalsOf } from '../../support/redis-refusals.ts'
import { endedMeanwhile } from '../figures.ts'
import { scenario, type Scenario, type Seen } from '../scenario.ts'
import { manyLoads } from '../settings.ts'
import type { Stage } from '../stage.ts'
import type { Work } from '../work.ts'

/** Redis answers, and does not do what it is told, while loads end. */
export const refusals = [
  scenario({
    name: 'long_script',
    on: 'node',
    what: 'Redis is BUSY with a script of somebody else, again and again: loads that end meanwhile leave no lease.',
    allowed: { older: true },
    work: manyLoads,
    async fault(stage) {
      for (let round = 0; round < 3; round++) {
        await occupy(stage.servers.client, 600)
        stage.count('occupied')
        await pause(stage.random.between(100, 300))
      }
    },
    bites: (seen) => seen.counted('occupied') === 3 && refusedWhileLoadsEnd(seen),
  }),
  scenario({
    name: 'read_only_for_half_a_second',
    on: 'node',
    what: 'Redis refuses every write, as a replica does, for half a second: loads that end meanwhile leave no lease.',
    allowed: { older: true },
    work: manyLoads,
    async fault({ servers, random }) {
      await servers.makeReadOnly()
      await pause(random.between(500, 600))
      await servers.makeWritable()
    },
    bites: refusedWhileLoadsEnd,
  }),
  scenario({
    name: 'misconf',
    on: 'node',
    what: 'Redis cannot save and refuses every write for half a second (MISCONF): loads that end leave no lease.',
    allowed: { older: true },
    work: manyLoads,
    async fault(stage) {
      const { servers, random } = stage
      await failToSave(servers)
      const answer = await servers.client.set('somebody else', '', 'PX', 1).catch(String)
      if (answer?.includes('MISCONF')) stage.count('refused')
      await pause(random.between(500, 600))
      await letSave(servers)
    },
    bites: (seen) => seen.counted('refused') > 0 && refusedWhileLoadsEnd(seen),
  }),
  scenario({
    name: 'writes_paused',
    on: 'node',
    what: 'Redis holds all writes back for a second, and then carries them out: loads that end meanwhile leave no lease.',
    allowed: { older: true },
    work: manyLoads,
    async fault({ servers, lasts }) {
      await pauseWrites(servers.client, lasts)
      await pause(lasts)
    },
    bites: ({ history, heard }) => endedMeanwhile(history) > 5 && heard('degraded') + heard('storeFailure') > 0,
  }),
  ...['set', 'del', 'getrange', 'hmget', 'hset', 'hkeys', 'pttl', 'pexpire', 'time', 'pubsub'].map((command) =>
    forbidden(command),
  ),
  forbidden('mget', { work: { together: 4 } }),
  // What a failure left goes when the next one claims.
  forbidden('hdel', { work: { source: { throws: 0.4 } } }),
  // Whoever keeps copies asks for the last change.
  forbidden('hget', { work: { nearTtl: 1_000, ttl: [500, 3_000], invalidations: 0.02 } }),
  forbidden('subscribe', { provoke: ({ victim }) => victim.subscriber.cut() }),
  forbidden('eval', { provoke: ({ servers }) => servers.client.script('FLUSH') }),
  // A process that starts makes its scripts known.
  forbidden('script', { provoke: (stage) => stage.retire(stage.victim) }),
]

/** The users of the fleet may not send a command any more, be it in a script. */
function forbidden(
  command: string,
  {
    work = {},
    provoke = () => {},
  }: {
    work?: Partial<Work>
    /** Does what makes the fleet send it. */
    provoke?: (stage: Stage<'node'>) => unknown
  } = {},
): Scenario {
  return scenario({
    name: `${command}_forbidden`,
    on: 'node',
    what: `Nobody may send ${command.toUpperCase()} any more, be it in a script: everybody is answered, and no lease is left.`,
    allowed: { older: true },
    without: { quick: 'a lease that is left is over there before it is seen' },
    work: { ...manyLoads, ...work },
    async fault(stage) {
      const { servers } = stage
      await servers.client.acl('LOG', 'RESET')
      await servers.forbid(command)
      await provoke(stage)
      return async () => {
        stage.count('refused', await refusalsOf(servers.client, command))
        await servers.permit(command)
      }
    },
    bites: ({ counted }) => counted('refused') > 0,
  })
}

/** Loads with a lease ended meanwhile, and Redis said no. */
function refusedWhileLoadsEnd({ history, heard }: Seen): boolean {
  return endedMeanwhile(history) > 5 && heard('storeFailure') > 0
}
