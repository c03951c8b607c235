/**
 * Deliberate breaks of what is promised of copies in processes, as those in mutations.mjs.
 *
 * @type {import('./mutations.mjs').Mutation[]}
 */
export const nearMutations = [
  {
    name: 'a change does not wait until its copies are let go',
    rule: 4,
    file: 'src/redis/coherence.ts',
    from: '      await all\n',
    to: '      done()\n',
    tests: ['test/contract/redis-store.test.ts'],
  },
  {
    name: 'copies are told of a change while it is on its way',
    rule: 4,
    file: 'src/redis/store.ts',
    from: 'if (isYes(copied)) await',
    to: 'if (isYes(copied)) void',
    tests: ['test/contract/redis-store.test.ts'],
  },
  {
    name: 'what goes while it is read is kept',
    rule: 4,
    file: 'src/core/near.ts',
    from: 'expected !== null && this.#expected.get(key) === expected && this.#expected.delete(key)',
    to: '(this.#expected.delete(key), true)',
    tests: ['test/unit/near.test.ts'],
  },
  {
    name: 'copies are served without the promise that they are told',
    rule: 4,
    file: 'src/core/near.ts',
    from: 'now >= kept.until || now >= this.#watch.until',
    to: 'now >= kept.until',
    tests: ['test/unit/near.test.ts'],
  },
  {
    name: 'copies outlive a list that was lost',
    rule: 4,
    file: 'src/redis/lua/keep-copies.lua',
    from: '  last = ARGV[3]\n',
    to: "  last = '0000000000000000'\n",
    tests: ['test/integration/near.test.ts'],
  },
  {
    name: 'a sign does not show that a message was lost',
    rule: 4,
    file: 'src/redis/watcher.ts',
    from: '    this.#follow(last)\n',
    to: '',
    tests: ['test/unit/watcher.test.ts'],
  },
  {
    name: 'a message does not show that the one before it was lost',
    rule: 4,
    file: 'src/redis/watcher.ts',
    from: '    this.#follow(previous)\n',
    to: '',
    tests: ['test/unit/watcher.test.ts'],
  },
  {
    name: 'what is told when no memory is left is noted nowhere',
    rule: 4,
    file: 'src/redis/lua/drop-copies.lua',
    from: "then redis.call('HDEL', KEYS[1], 'last') end",
    to: 'then end',
    tests: ['test/integration/lost-copies.test.ts'],
  },
  {
    name: 'a sign is good from when it comes, not from when it was asked for',
    rule: 4,
    file: 'src/redis/watcher.ts',
    from: 'Math.max(this.#until, askedAt + this.#window)',
    to: 'systemClock.now() + this.#window',
    tests: ['test/unit/watcher.test.ts'],
  },
]
