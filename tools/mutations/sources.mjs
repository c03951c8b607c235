const unit = ['test/unit/source/sources.test.ts']
const redis = ['test/contract/redis-store.test.ts']

/**
 * Deliberate breaks of the limits on sources.
 *
 * @type {import('./core.mjs').Mutation[]}
 */
export const sourceMutations = [
  {
    name: 'permits of a source are granted whatever others hold',
    rule: null,
    file: 'src/redis/lua/permits.lua',
    from: 'room = most - used - held',
    to: 'room = most',
    tests: redis,
  },
  {
    name: 'a report of permits that comes too late counts',
    rule: null,
    file: 'src/redis/lua/permits.lua',
    from: 'if mine and mine[SEQ] >= seq then',
    to: 'if false then',
    tests: redis,
  },
  {
    name: 'urgent loads do not go first',
    rule: null,
    file: 'src/redis/lua/permits.lua',
    from: 'if row[URGENCY] < urgency then before = before + row[WANTS] else',
    to: 'if row[URGENCY] < urgency then before = before else',
    tests: redis,
  },
  {
    name: 'a store that has forgotten the users of a source grants all at once',
    rule: null,
    file: 'src/redis/lua/permits.lua',
    from: 'if #stored == 0 and known > 0 then',
    to: 'if false then',
    tests: redis,
  },
  {
    name: 'a rate is not counted',
    rule: null,
    file: 'src/redis/lua/permits.lua',
    from: "redis.call('HSET', key, 'rate', table.concat(texts, ' '))",
    to: '',
    tests: redis,
  },
  {
    name: 'a process keeps all of its permits while others wait',
    rule: null,
    file: 'src/core/source/fleet-permits.ts',
    from: 'return held < Math.floor((concurrency ?? Number.POSITIVE_INFINITY) / (waiting.users + 1))',
    to: 'return true',
    tests: unit,
  },
  {
    name: 'processes that are more than the permits keep them from the others',
    rule: null,
    file: 'src/core/source/fleet-permits.ts',
    from: 'return held < Math.floor(',
    to: 'return held < Math.ceil(',
    tests: unit,
  },
  {
    name: 'what was granted and is not wanted is kept',
    rule: null,
    file: 'src/core/source/fleet-permits.ts',
    from: 'isOutdated = this.#grant(answer.granted) > 0 || isOutdated',
    to: 'this.#grant(answer.granted)',
    tests: unit,
  },
  {
    name: 'a permit is given back when the loader times out, though it still loads',
    rule: null,
    file: 'src/core/flight/loader.ts',
    from: 'this.#permit?.source.ended(plan.hardTimeout, error)',
    to: 'this.#giveBack()',
    tests: unit,
  },
  {
    name: 'a load within a load of the same source asks for a permit of its own',
    rule: null,
    file: 'src/core/flight/queueing.ts',
    from: 'if (source === null || holdsAbove(parent, source)) return null',
    to: 'if (source === null) return null',
    tests: unit,
  },
  {
    name: 'a loader that waits for a queued load does not bring its permit along',
    rule: null,
    file: 'src/core/flight/queueing.ts',
    from: 'if (holdsAbove(caller.parent, this.#source)) this.stop(null)',
    to: '',
    tests: unit,
  },
  {
    name: 'a load is queued although its turn comes too late for its caller',
    rule: null,
    file: 'src/core/source/source.ts',
    from: "if (now + this.#waitOf(this.#queue.before(urgency), urgency) > wanted.until) return this.#refused('late', key)",
    to: '',
    tests: unit,
  },
  {
    name: 'a rate does not hold without the store',
    rule: null,
    file: 'src/core/source/fleet-permits.ts',
    from: 'Math.min(room, this.#granted.left(own, this.#about.clock.now()))',
    to: 'room',
    tests: unit,
  },
]
