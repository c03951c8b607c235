/**
 * Deliberate breaks of what is said of trouble: the reasons of an unavailable store, and warnings.
 *
 * @type {import('./core.mjs').Mutation[]}
 */
export const troubleMutations = [
  {
    name: 'a warning is given again and again',
    rule: null,
    file: 'src/warnings.ts',
    from: '    given.add(id)\n',
    to: '',
    tests: ['test/unit/warnings.test.ts'],
  },
  {
    name: 'a warning is given although an event is heard',
    rule: null,
    file: 'src/warnings.ts',
    from: '|| heardAs.some((name) => events.heard(name))',
    to: '',
    tests: ['test/unit/warnings.test.ts'],
  },
  {
    name: 'push that is lost with its server is warned of',
    rule: null,
    file: 'src/warnings.ts',
    from: '(this.isAway ? this.#wait() : this.#warn())',
    to: 'this.#warn()',
    tests: ['test/unit/warnings.test.ts'],
  },
  {
    name: 'a cache that is closing goes on to warn',
    rule: null,
    file: 'src/core/observe/events.ts',
    from: '    this.#watch?.end()\n    this.#watch = null',
    to: '',
    tests: ['test/unit/warnings.test.ts'],
  },
  {
    name: 'a lease that a blocked process lost looks like any other',
    rule: null,
    file: 'src/core/lease/watchdog.ts',
    from: 'if (late < ttl / 6)',
    to: 'if (late < Infinity)',
    tests: ['test/unit/warnings.test.ts'],
  },
  {
    name: 'a store keeps its trouble although its connection is open again',
    rule: null,
    file: 'src/redis/connection/connection-trouble.ts',
    from: 'readonly over = (): void => {\n    this.#last = undefined',
    to: 'readonly over = (): void => {',
    tests: ['test/integration/unavailable.test.ts'],
  },
  {
    name: 'the errors of the connection for messages are dropped',
    rule: null,
    file: 'src/redis/push/inbox.ts',
    from: 'failed: this.#owner.trouble.note,',
    to: 'failed: () => {},',
    tests: ['test/integration/unavailable.test.ts'],
  },
  {
    name: 'trouble is over only when the connection for messages is open again',
    rule: null,
    file: 'src/redis/connection/connection-trouble.ts',
    from: "listen(this.#client, 'ready', this.over)",
    to: '() => {}',
    tests: ['test/integration/unavailable.test.ts'],
  },
  {
    name: 'an error with a key does not say why',
    rule: null,
    file: 'src/core/flight/callers.ts',
    from: 'message, { key, cause, reason })',
    to: 'message, { key, cause })',
    tests: ['test/integration/unavailable.test.ts'],
  },
]
