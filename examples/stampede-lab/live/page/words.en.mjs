/** The words of the page in English. */

/** @typedef {typeof en} Words */

/** @param {number} count @param {string} one @param {string} [many] */
const of = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`

/** @param {readonly string[]} names */
const listed = (names) => new Intl.ListFormat('en-GB').format(names)

export const en = {
  language: 'en',
  other: { href: '?lang=zh', lang: 'zh', text: '中文' },

  /** What stands there in every state, by the name in the page. */
  page: {
    title: 'The stampede lab',
    about:
      'Four real processes, a real Redis, a real database for each side. Both sides get the same 240 requests a second.',
    titleWithout: 'Without herdless',
    titleWith: 'With herdless',
    protection: 'Protection of the left side',
    nothing: 'nothing',
    coalescing: 'in-process',
    lock: 'tutorial lock',
    herdless: 'herdless',
    queries: 'queries to the database',
    database: 'Database',
    controls: 'Disturb both sides',
    groupKeys: 'Keys',
    groupLeader: 'Leader',
    groupSource: 'Source',
    doExpire: 'Expire the keys',
    doInvalidate: 'Change one in mid-load',
    doFlush: 'Flush',
    doCrawl: 'Flush, 1,000 keys',
    doKill: 'Kill it in mid-load',
    doPause: 'Pause it',
    doSlow: 'Slow',
    doFail: 'Failing',
    doRedis: 'Down',
    legend:
      'A dot is a request. Source: what values are loaded from, the database. Lease (or lock): the right to load a key, a token with the time it has left; the leader holds it.',
    tape: 'What happened',
    footer:
      'A value lives 60 s. Lock and lease last 1 s, a slow load 1.5 s longer than a fast one. Everything runs on this machine, and ends with Ctrl+C.',
    closingTitle: 'The same requests, the same faults, on both sides',
    closingLine: 'With herdless, that is one line of code:',
    again: 'Play it again',
    look: 'Try it yourself',
  },

  link: { live: 'Live', ended: 'The lab has ended' },
  titleToo: 'With herdless, too',
  keys: { home: 'Home', 'top-ten': 'Top ten', prices: 'Prices', product: 'a product' },
  initials: { home: 'H', 'top-ten': 'T', prices: 'P' },

  tour: {
    start: 'Start the tour',
    stop: 'Stop the tour',
    idle: {
      title: 'Your turn',
      text: 'Press a button below: it happens on both sides at once. Or let the tour show in a minute what matters.',
    },
    acts: {
      nothing: {
        title: 'Hot keys expire while the source is slow',
        text: 'A stampede: without protection, every request asks the database until the first load is back. With herdless one process loads, and the others wait for it.',
      },
      coalescing: {
        title: 'One promise per key in each process',
        text: 'Callers of one process share a load, as in many libraries. Processes do not know of each other: each query runs four times.',
      },
      lock: {
        title: 'The lock of the usual tutorial',
        text: 'It lasts 1 s, the load 1.5 s: the lock expires under its holder, and the next caller loads, too. herdless renews its lease.',
      },
      kill: {
        title: 'The process that loads is killed',
        text: 'By kill -9, in the middle of its load. The lease of herdless runs out within a second, and one of those that wait loads instead.',
      },
      invalidate: {
        title: 'The data changes during a load',
        text: 'It is invalidated while its old state is being loaded. Without herdless the old state is stored, and served. herdless refuses it.',
      },
      redisDown: {
        title: 'Redis goes down',
        text: 'The code of the tutorial waits for Redis and ends in errors. With herdless each process loads for itself until Redis is back.',
      },
    },
  },

  /** The rows of the closing card, by act. */
  results: {
    nothing: 'Keys expire, the source is slow: queries',
    coalescing: 'The same, with a promise in each process: queries',
    lock: 'The same, with the tutorial lock: queries',
    kill: 'The loading process is killed: queries',
    invalidate: 'Data changes during a load: outdated answers',
    redisDown: 'Redis is down: requests with an error',
  },

  /** Since when the figures count, by event. */
  since: {
    start: 'Since the lab has started',
    way: 'Since the counts began anew',
    expire: 'Since all keys expired',
    age: 'Since all values grew too old',
    invalidate: 'Since Prices was loaded, and changed meanwhile',
    kill: 'Since Prices expired, and its leader was killed',
    pause: 'Since Prices expired, and its leader was paused',
    flush: 'Since Redis was emptied',
    crawl: 'Since Redis was emptied, and 1,000 keys were asked for',
    failing: 'Since the source fails',
    healed: 'Since the source works again',
    redisDown: 'Since Redis went down',
    redisUp: 'Since Redis is back, and empty',
  },

  felt: {
    slowest: 'longest wait of a request',
    errors: 'requests ended in an error',
    outdated: 'answers were outdated',
    most: 'loads at a time, at most',
  },
  /** @param {{ answered: string, errors: string, outdated: string, slowest: string }} all */
  answers: ({ answered, errors, outdated, slowest }) => [
    `${answered} answered`,
    `${errors} errors`,
    `${outdated} outdated`,
    `longest wait ${slowest}`,
  ],

  keeps: { values: 'values', lock: 'values, locks', herdless: 'values, leases', down: 'is down' },
  /** @param {number} queries */
  underWay: (queries) => `the source: ${of(queries, 'query', 'queries')} now`,
  /** @param {number} most */
  perSecond: (most) => `queries per second, ${most} at most`,

  process: {
    serves: 'serves',
    waits: 'waits',
    paused: 'is paused',
    starting: 'was killed',
    /** @param {string} key */
    loads: (key) => `loads ${key}`,
    /** @param {number} keys */
    loadsKeys: (keys) => `loads ${keys} keys`,
    /** @param {number} loads */
    loadsMany: (loads) => `${loads} queries`,
  },

  /** What a side does now, and why. */
  now: {
    serves: 'All requests are answered from Redis.',
    /** @param {{ parked: number }} _ */
    woken: ({ parked }) => `The load is back: ${of(parked, 'request')} that waited get its value.`,
    outdated: 'The old state was stored after the invalidation, and is served from Redis until it expires.',
    refused: 'The load of the old state was refused. A new one is under way, and the others wait for it.',
    /** @param {{ loads: number, keys: number }} _ */
    herd: ({ loads, keys }) =>
      `No request knows of another: ${of(loads, 'query', 'queries')} for ${of(keys, 'key')} at the same time.`,
    /** @param {{ loads: number, keys: number, parked: number }} _ */
    perProcess: ({ loads, keys, parked }) =>
      `Each process loads for itself: ${of(loads, 'query', 'queries')} for ${of(keys, 'key')}. ${of(parked, 'request')} wait in the processes.`,
    /** @param {{ holders: string[], leases: number, parked: number }} _ */
    locked: ({ holders, leases, parked }) =>
      `${listed(holders)} ${holders.length === 1 ? 'holds' : 'hold'} ${of(leases, 'lock')} and load${holders.length === 1 ? 's' : ''}. ${of(parked, 'request')} look again every 50 ms.`,
    /** @param {{ loads: number, keys: number }} _ */
    lockLost: ({ loads, keys }) =>
      `The lock expired under its holder, so others load, too: ${of(loads, 'query', 'queries')} for ${of(keys, 'key')}.`,
    /** @param {{ holders: string[], leases: number, parked: number }} _ */
    leased: ({ holders, leases, parked }) =>
      `${listed(holders)} ${holders.length === 1 ? 'holds' : 'hold'} ${of(leases, 'lease')}: one query per key. ${of(parked, 'request')} wait.`,
    /** @param {{ loads: number, parked: number }} _ */
    begun: ({ loads, parked }) => `${of(loads, 'query', 'queries')} under way, ${of(parked, 'request')} wait.`,
    /** @param {{ loads: number, parked: number }} _ */
    unlimited: ({ loads, parked }) =>
      `Nothing limits the source: ${of(loads, 'load')} at the same time. ${of(parked, 'request')} wait.`,
    /** @param {{ loads: number, parked: number }} _ */
    limited: ({ loads, parked }) =>
      `The source has a limit of 20 loads at a time in all processes: ${loads} now. ${of(parked, 'request')} wait.`,
    /** @param {{ gone: string, parked: number }} _ */
    lockOfGone: ({ gone, parked }) =>
      `${gone} is gone and its lock is not: ${of(parked, 'request')} look again until it expires.`,
    /** @param {{ gone: string, parked: number }} _ */
    leaseOfGone: ({ gone, parked }) =>
      `${gone} no longer renews its lease. When it runs out, one of ${of(parked, 'request')} that wait will load.`,
    /** @param {{ parked: number }} _ */
    waitForRedis: ({ parked }) =>
      `Redis does not answer. ${of(parked, 'request')} wait up to 2 s for it, then end in an error; nobody asks the database.`,
    /** @param {{ loads: number, parked: number }} _ */
    alone: ({ loads, parked }) =>
      `Redis does not answer, so each process loads for itself: ${of(loads, 'query', 'queries')} now, shared by ${of(parked + loads, 'request')}.`,
    /** @param {{ loads: number }} _ */
    allFail: ({ loads }) =>
      `The source fails. Each request asks it, and waits in line for its error: ${of(loads, 'query', 'queries')} now.`,
    /** @param {{ loads: number, parked: number }} _ */
    shareFailure: ({ loads, parked }) =>
      `The source fails. Each process asks it once at a time for a key: ${of(loads, 'query', 'queries')} now, whose error goes to ${of(parked + loads, 'request')}.`,
    /** @param {{ loads: number, parked: number }} _ */
    inTurnFail: ({ loads, parked }) =>
      `The source fails. Each holder of a lock gets its error, and the next one tries: ${of(loads, 'query', 'queries')} now, ${of(parked, 'request')} in line.`,
    rememberFailure: 'The source fails. One query per key and second: everybody is given its error until the next one.',
  },

  /** What was done, by action. */
  did: {
    /** @param {{ value?: string }} _ */
    way: ({ value }) => `Left side: ${value === 'coalescing' ? 'in-process' : value}. All counts begin anew.`,
    expire: () => 'All keys have expired.',
    age: () => 'All values have grown 60 s old, and expired.',
    invalidate: () => 'Prices was changed and invalidated while its old state was being loaded.',
    /** @param {{ shops?: string[] }} _ */
    kill: ({ shops = [] }) => `Killed in mid-load: ${listed(shops)}. A new process starts in its place.`,
    /** @param {{ shops?: string[] }} _ */
    pause: ({ shops = [] }) => `Paused in mid-load for 3 s: ${listed(shops)}.`,
    slow: () => 'A load takes 1.5 s longer now. Expire the keys to see it.',
    fast: () => 'The source is fast again.',
    failing: () => 'Each query fails now, and all keys have expired.',
    healed: () => 'Queries succeed again.',
    redisDown: () => 'Redis is down.',
    redisUp: () => 'Redis is back, and empty.',
    flush: () => 'All values, leases and locks were removed from Redis.',
    crawl: () => 'Redis was emptied, and 1,000 keys are asked for at once, each by one caller.',
  },
  /** What is about to be done. */
  soon: {
    invalidate: 'Prices expires; its new load will be overtaken by a change.',
    kill: 'Prices expires; the process that loads it will be killed.',
    pause: 'Prices expires; the process that loads it will be paused.',
  },

  tape: {
    sides: { without: 'Left', with: 'Right' },
    /** @param {string} shop @param {string} key */
    load: (shop, key) => `${shop} loads ${key}`,
    /** @param {string} key @param {number} times */
    loads: (key, times) => `${key} is loaded ${times} times`,
    /** @param {string} key @param {number} times */
    renewed: (key, times) => `the lease of ${key} is renewed${times > 1 ? `, ${times} times` : ''}`,
    /** @param {{ queries: string, most: string, errors: string, outdated: string, slowest: string }} cost */
    cost: ({ queries, most, errors, outdated, slowest }) =>
      `${queries} queries, ${most} at a time, ${errors} errors, ${outdated} outdated answers, longest wait ${slowest}`,
    /** @param {string} message */
    trouble: (message) => `That did not work: ${message}.`,
  },
  noAnswer: 'The lab does not answer.',
}
