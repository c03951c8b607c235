import { setTimeout as pause } from 'node:timers/promises'
import { scenario } from '../scenario.ts'
import { until } from '../../../tools/until.mjs'
import { isHuge, type Work } from '../work.ts'

/** Lets the source be different for a while. */
function source(change: Partial<Work>): Parameters<typeof scenario<'node'>>[0]['fault'] {
  return async (stage) => {
    await stage.adjust(change)
    const { work } = stage
    return () => stage.adjust(work)
  }
}

/** So many callers must have got a huge value before it is felt. */
const fewestHugeAnswers = 6

export const sources = [
  scenario({
    name: 'source_fails',
    on: 'node',
    what: 'Every load fails: whoever waited gets that error, or the stale value, and the source is not asked by all.',
    hits: 'nobody',
    allowed: { wakeUp: 300 },
    work: { slow: 0 },
    quick: { failureCooldown: 1_000 },
    fault: source({ source: { throws: 1 } }),
    bites: ({ figures }) => (figures.answers['LOAD_FAILED'] ?? 0) > 50,
    // One a second, and no more, of each key; a few fail at any time.
    holds: ({ history }) => {
      const failed = [...history.loads.values()].filter(({ key, ends }) => key.startsWith('hot') && ends === 'error')
      return failed.length <= 30 ? [] : [`The source was asked ${failed.length} times, although it fails`]
    },
  }),
  scenario({
    name: 'source_throws_at_once',
    on: 'node',
    what: 'Every loader throws before it returns a promise: whoever waited gets that error, or the stale value.',
    hits: 'nobody',
    allowed: { wakeUp: 300 },
    fault: source({ source: { 'throws at once': 1 } }),
    bites: ({ figures }) => (figures.answers['LOAD_FAILED'] ?? 0) > 50,
  }),
  scenario({
    name: 'source_hangs',
    on: 'node',
    what: 'Every third load never ends: it is given up after its hard timeout, for all who waited.',
    allowed: { errors: ['LOAD_TIMEOUT'] },
    work: { hardTimeout: 500, slow: 0 },
    fault: source({ source: { hangs: 0.3 } }),
    bites: ({ figures }) => (figures.answers['LOAD_TIMEOUT'] ?? 0) > 10,
  }),
  scenario({
    name: 'source_returns_garbage',
    on: 'node',
    what: 'Every third load returns what no codec keeps: its callers get it, and the others load side by side.',
    fault: source({ source: { 'returns garbage': 0.3 } }),
    bites: ({ history }) => [...history.loads.values()].filter(({ ends }) => ends === 'pass').length > 10,
  }),
  scenario({
    name: 'values_not_to_be_stored',
    on: 'node',
    what: 'The values of some keys must not be stored: their callers load side by side, and each gets its own.',
    hits: 'nobody',
    work: { privateKeys: 2, slow: 0, source: {} },
    async fault() {},
    bites: ({ history }) => [...history.loads.values()].filter(({ ends }) => ends === 'pass').length > 50,
    // What was said is remembered for a second; then one asks with a lease again.
    holds: ({ history }) => {
      const leased = [...history.loads.values()].filter(({ ends, fence }) => ends === 'pass' && fence !== null)
      return leased.length <= 20 ? [] : [`${leased.length} callers queued for a value that must not be stored`]
    },
  }),
  scenario({
    name: 'huge_values',
    on: 'node',
    what: 'Some values have 12 MB: whoever waits for them waits, and nobody else gets an error.',
    // Those that are on their way when the last has been asked for still take their time.
    allowed: { older: true, healsWithin: 3_000 },
    work: { ttl: [300, 1_000] },
    // A busy machine takes seconds of a caller's patience to make and read such values.
    quick: { waitTimeouts: [15_000] },
    async fault(stage) {
      await stage.adjust({ huge: 0.005 })
      await pause(3 * stage.lasts)
      // Few calls are for them, and a busy machine makes fewer in the same time.
      const answers = (): number => stage.processes.reduce((sum, { hugeAnswers }) => sum + hugeAnswers, 0)
      await until('enough callers have got a huge value', () => answers() >= fewestHugeAnswers)
      return () => stage.adjust({ huge: 0 })
    },
    bites: ({ history }) =>
      history.calls.filter(({ key, answer }) => isHuge(key) && answer?.value !== undefined).length >= fewestHugeAnswers,
  }),
  scenario({
    name: 'woken_by_polling',
    on: 'node',
    what: 'Redis forbids messages, and whoever waits asks again: no error, and one load at a time.',
    hits: 'nobody',
    allowed: { wakeUp: 600 },
    work: { wakeUp: 'poll' },
    quick: { leaseTtl: 3_000 },
    async fault() {},
    bites: ({ heard }) => heard('wait') > 10 && heard('pushed') === 0,
  }),
]
