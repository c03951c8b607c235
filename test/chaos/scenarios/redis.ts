import { setTimeout as pause } from 'node:timers/promises'
import { until } from '../../../tools/until.mjs'
import { toldLate } from '../figures.ts'
import { tokensOf } from '../sampler.ts'
import { scenario, untilRenewal, type Scenario } from '../scenario.ts'
import { manyLoads } from '../settings.ts'

export const redis = [
  scenario({
    name: 'redis_restarted_empty',
    on: 'node',
    what: 'Redis is killed and comes back at once, with nothing in it: callers are answered, one load per key follows.',
    allowed: { older: true, overlap: untilRenewal },
    async fault({ servers }) {
      await servers.restart()
    },
    // Every process has lost its connections; whether a command was on its way is chance.
    bites: ({ heard }) => heard('not pushed') >= 4,
  }),
  scenario({
    name: 'restarted_from_old_dump',
    on: 'node',
    what: 'Redis is killed and comes back with what it had half a second ago: leases of loads that have ended are freed.',
    allowed: { older: true, overlap: untilRenewal },
    forgets: true,
    work: manyLoads,
    // Longer than the leases that come back have lived already.
    quick: { leaseTtl: 5_000 },
    async fault(stage) {
      const { servers, random } = stage
      await servers.client.save()
      const saved = await tokensOf(servers)
      await pause(random.between(450, 550))
      const held = await tokensOf(servers)
      stage.count('ended since', [...saved].filter((token) => !held.has(token)).length)
      await servers.restartFromSave()
    },
    bites: ({ counted }) => counted('ended since') > 0,
  }),
  scenario({
    name: 'redis_down',
    on: 'node',
    what: 'Redis is gone for a second, and comes back empty: callers are served by loads without a lease.',
    allowed: { older: true, overlap: untilRenewal },
    async fault({ servers }) {
      await servers.kill()
      return () => servers.restart()
    },
    bites: ({ figures, heard }) => figures.alone > 0 && heard('degraded') > 0,
  }),
  scenario({
    name: 'redis_frozen',
    on: 'node',
    what: 'Redis answers nothing for a second: callers are served by loads without a lease, and then all is as before.',
    allowed: { older: true },
    async fault({ servers }) {
      await servers.freeze()
      return () => servers.thaw()
    },
    bites: ({ figures, heard }) => figures.alone > 0 && heard('degraded') > 0,
  }),
  scenario({
    name: 'all_keys_flushed',
    on: 'node',
    what: 'All keys are gone at once, leases too: a load per key follows, and what runs without its lease is void.',
    hits: 'nobody',
    allowed: { overlap: untilRenewal },
    work: { slow: 0.3 },
    async fault(stage) {
      await stage.servers.client.flushall()
    },
    bites: ({ heard }) => heard('lost') + heard('refused') > 0,
  }),
  scenario({
    name: 'all_keys_flushed_again_and_again',
    on: 'node',
    what: 'All keys are gone every 50 ms: everybody is answered, after some rounds without a lease.',
    allowed: { overlap: untilRenewal, older: true },
    async fault(stage) {
      for (const end = stage.now() + stage.lasts; stage.now() < end; await pause(50))
        await stage.servers.client.flushall()
    },
    bites: ({ heard }) => heard('lost') + heard('refused') > 10,
  }),
  scenario({
    name: 'scripts_flushed',
    on: 'node',
    what: 'Redis forgets its scripts again and again: nobody notices.',
    hits: 'nobody',
    allowed: { wakeUp: 300 },
    async fault(stage) {
      const { client } = stage.servers
      for (const end = stage.now() + stage.lasts; stage.now() < end; await pause(20)) await client.script('FLUSH')
      // A script that is sent whole has its source in the statistics as another command.
      const info = await client.info('commandstats')
      stage.count('sent whole', Number(/cmdstat_eval:calls=(\d+)/.exec(info)?.[1] ?? 0))
    },
    bites: ({ counted }) => counted('sent whole') > 10,
  }),
  scenario({
    name: 'redis_full',
    on: 'node',
    what: 'Redis has no memory left and refuses every write: callers are served by loads without a lease.',
    allowed: { older: true },
    async fault({ servers }) {
      await servers.exhaustMemory()
      return () => servers.freeMemory()
    },
    bites: ({ figures, heard }) => figures.alone > 0 && heard('storeFailure') > 0,
  }),
  scenario({
    name: 'leases_evicted',
    on: 'node',
    what: 'Redis drops what would expire first, so leases, again and again: the loads are void and run again.',
    allowed: { overlap: untilRenewal },
    work: { slow: 0.2, ttl: [2_000, 5_000], leaseTtl: 600 },
    async fault(stage) {
      for (const end = stage.now() + stage.lasts; stage.now() < end; await pause(50))
        stage.count('evicted', await stage.servers.evict())
    },
    bites: ({ counted, heard }) => counted('evicted') > 10 && heard('lost') + heard('refused') > 0,
  }),
  scenario({
    name: 'memory_tight',
    on: 'node',
    what: 'Every write costs some other key its place in Redis: nobody gets an error.',
    allowed: { overlap: untilRenewal, older: true },
    async fault({ servers }) {
      await servers.tightenMemory()
      return () => servers.freeMemory()
    },
    bites: ({ figures }) => figures.loads > 100,
  }),
  scenario({
    name: 'redis_loading',
    on: 'node',
    what: 'Redis is started again and loads its data for a second: callers are served by loads without a lease.',
    // The client asks again a second after it was told that Redis still loads.
    allowed: { older: true, overlap: untilRenewal, healsWithin: 2_500 },
    forgets: true,
    async fault(stage) {
      await stage.servers.restartLoading(stage.lasts)
      await until('it has loaded', async () => /^loading:0/m.test(await stage.servers.client.info('persistence')))
    },
    bites: ({ figures }) => figures.alone > 0,
  }),
  scenario({
    name: 'redis_read_only',
    on: 'node',
    what: 'Redis refuses every write, as a replica does: values are read, and the rest is loaded without a lease.',
    allowed: { older: true },
    async fault({ servers }) {
      await servers.makeReadOnly()
      return () => servers.makeWritable()
    },
    bites: ({ figures, heard }) => figures.alone > 0 && heard('storeFailure') > 0,
  }),
  scenario({
    name: 'password_changed',
    on: 'node',
    what: 'Redis asks for a password that nobody knows: callers are served by loads without a lease.',
    allowed: { older: true, overlap: untilRenewal, healsWithin: 2_500 },
    async fault({ servers }) {
      await servers.changePassword('nobody knows')
      return () => servers.changePassword()
    },
    bites: ({ figures, heard }) => figures.alone > 0 && heard('storeFailure') > 0,
  }),
  forbidden('evalsha', 'callers are served by loads without a lease', {
    bites: ({ figures, heard }) => figures.alone > 0 && heard('storeFailure') > 0,
  }),
  forbidden('get', 'callers are served by loads without a lease', {
    bites: ({ figures, heard }) => figures.alone > 0 && heard('storeFailure') > 0,
  }),
  forbidden('publish', 'whoever waits asks again, and nobody notices', {
    hits: 'nobody',
    allowed: { wakeUp: 600 },
    quick: { leaseTtl: 3_000 },
    bites: ({ history }) => toldLate(history, 50) > 0,
  }),
  scenario({
    name: 'tls',
    on: 'tls',
    what: 'Redis speaks TLS, and all connections break: nobody notices.',
    hits: 'nobody',
    allowed: { overlap: 400 },
    // It takes longer to connect, too.
    work: { commandTimeout: 1_500 },
    async fault(stage) {
      for (const each of stage.processes.flatMap(({ way }) => way)) each.cut()
      stage.count('cut')
    },
    bites: ({ counted, figures, heard }) => counted('cut') > 0 && heard('not pushed') >= 4 && figures.loads > 50,
  }),
]

/** The users of the fleet may not send a command any more. */
function forbidden(
  command: string,
  what: string,
  rest: Pick<Scenario<'node'>, 'bites' | 'hits' | 'allowed' | 'quick'>,
): Scenario {
  return scenario<'node'>({
    name: `${command}_forbidden`,
    on: 'node',
    what: `Nobody may send ${command.toUpperCase()} any more: ${what}.`,
    allowed: { older: true },
    async fault({ servers }) {
      await servers.forbid(command)
      return () => servers.permit(command)
    },
    ...rest,
  })
}
