/**
 * A process of the fleet under fault: it calls one cache all the time, as its work says, and notes what happens. It
 * stops when it is told to `finish`, and says what is left of it then.
 *
 * @typedef {import('./work.ts').Work} Work
 * @typedef {import('./work.ts').Ending} Ending
 * @typedef {import('../support/history.ts').Happening} Happening
 * @typedef {import('../../src/index.ts').LoadContext} LoadContext
 */
import { setTimeout as pause } from 'node:timers/promises'
import {
  bytesInUse,
  createCache,
  loadFailure,
  eventNames,
  obey,
  openClient,
  processIndex,
  redisStore,
  tell,
} from '../support/fleet-base.mjs'
import { end, fillParser, hearCommands, isOnMaster } from '../support/own-client.mjs'
import { until } from '../../tools/until.mjs'
import { Random } from './random.mjs'
import { unnoticed } from './unnoticed.mjs'

/** The length of a huge value, in characters. */
const huge = 12_000_000

/** How often calls are made, in milliseconds; a longer pause than `unnoticed` means that this process stood still. */
const tickEvery = 5

/** @type {import('../../src/index.ts').Cache} */
let cache
/** @type {import('../support/fleet-clients.mjs').FleetClient} */
let client
/** @type {Work} */
let work
/** @type {import('./work.ts').Opening['otherwise']} */
let otherwise
/** @type {Random} */
let random
let origin = 0n

/** @type {Record<string, number>} */
const events = {}
/** @type {string[]} */
const warnings = []
/** What Redis is sent when the cache has been closed. @type {string[]} */
const sentAfterwards = []
let counting = false
/** The last command that failed. */
let trouble = { at: Number.NEGATIVE_INFINITY, message: 'none' }
let isParserFull = false
/** @type {Set<Promise<unknown>>} */
const open = new Set()
/** @type {Happening[]} */
let notes = []
let lastId = 0
let lastMoment = 0
let lastTick = 0
let due = 0
let asking = false
/** @type {NodeJS.Timeout | undefined} */
let ticking

const RealDate = Date
let dateShift = 0
globalThis.Date = /** @type {DateConstructor} */ (
  class extends RealDate {
    /** @param {[]} given */
    constructor(...given) {
      super(...(given.length === 0 ? /** @type {[]} */ (/** @type {unknown} */ ([RealDate.now() + dateShift])) : given))
    }

    /** @override */
    static now() {
      return RealDate.now() + dateShift
    }
  }
)

process.on('warning', (warning) => warnings.push(String(warning)))

obey({
  /** @param {import('./work.ts').Opening} opening */
  async open(opening) {
    ;({ work, otherwise } = opening)
    origin = BigInt(opening.origin)
    random = new Random(opening.seed)
    const opened = await openClient(opening.redis)
    ;({ client } = opened)
    const store = redisStore(client, { wakeUp: work.wakeUp })
    const near = work.nearTtl > 0 ? { ttl: work.nearTtl } : undefined
    const limited = work.limit > 0 ? { sources: { origin: { concurrency: work.limit } }, source: 'origin' } : {}
    cache = createCache({ namespace: 'chaos', store, commandTimeout: work.commandTimeout, near, ...limited })
    for (const name of /** @type {const} */ ([...eventNames, 'storeFailure', 'overloaded', 'unstorable']))
      cache.on(name, () => count(name))
    cache.on('storeFailure', ({ error: { message } }) => (trouble = { at: now(), message }))
    cache.on('hit', ({ near }) => near && count('near hit'))
    cache.on('push', ({ up }) => count(up ? 'pushed' : 'not pushed'))
    // A client without a queue refuses commands until it is connected.
    await Promise.all([
      until('Redis answers', () => opened.connected().then(() => true)),
      work.wakeUp === 'poll' ? undefined : opened.subscribed,
    ])
  },

  begin() {
    asking = true
    lastTick = now()
    ticking = setInterval(tick, tickEvery)
  },

  /** Goes on in another way. @param {{ work: Work }} change */
  adjust(change) {
    ;({ work } = change)
  },

  /** @param {{ kind: 'set' | 'invalidate', key: string, ttl?: number }} order */
  write: ({ kind, key, ttl }) => write(kind, key, ttl),

  // A sentinel may still name a server that is none, and close the connection to it a second later.
  connected: () => until('the client is connected to a master', () => isOnMaster(client)),

  /** Closes the cache in the midst of its work. @param {{ timeout: number }} options */
  async close({ timeout }) {
    asking = false
    await cache.close({ timeout })
    await countCommands()
  },

  /** The parser of a client is given a large reply before the first sample, which it may keep. */
  async heap() {
    isParserFull ||= await fillParser(client, huge).then(
      () => true,
      () => false,
    )
    return bytesInUse()
  },

  /** Lets the wall clock of this process be wrong by so much. @param {{ ms: number }} shift */
  shiftDate({ ms }) {
    dateShift = ms
  },

  /** @returns {Promise<import('./work.ts').Rest>} */
  async finish() {
    asking = false
    // Whoever has no answer by then will never have one, which will be seen.
    const longest = Math.max(otherwise.waitTimeout, ...work.waitTimeouts)
    await Promise.race([allEnded(), pause(longest + 2_000, undefined, { ref: false })])
    await cache.close()
    await countCommands()
    // A failover may have closed the connection a moment ago, so QUIT could fail.
    await end(client)
    clearInterval(ticking)
    flush()
    return { events, warnings, sentAfterwards, resources: await resourcesLeft() }
  },
})

/** @param {string} name */
function count(name) {
  events[name] = (events[name] ?? 0) + 1
}

function tick() {
  const at = now()
  const gap = at - lastTick
  if (gap > unnoticed) {
    note({ what: 'stopped', at: lastTick, process: processIndex })
    note({ what: 'resumed', at, process: processIndex })
  }
  lastTick = at
  // Whoever stood still does not make up for the calls it has not made.
  due += (Math.min(gap, 50) / 1_000) * work.rate
  for (; asking && due >= work.together; due -= work.together) {
    for (let number = 0; number < work.together; number++) act()
  }
  if (notes.length > 0) flush()
}

function act() {
  const drawn = random.next()
  const key = someKey()
  if (drawn < work.invalidations) void write('invalidate', key)
  else if (drawn < work.invalidations + work.sets) void write('set', key)
  else if (drawn < work.invalidations + work.sets + work.tagInvalidations)
    void writeTag(random.between(0, work.tags - 1))
  else void ask(key)
}

function someKey() {
  if (work.huge > 0 && random.next() < work.huge) return `huge ${random.between(0, 1)}`
  if (random.next() < work.cold) return `cold ${random.between(0, work.coldKeys - 1)}`
  return `hot ${random.between(0, work.hotKeys - 1)}`
}

/** One call; resolves with its value, or with nothing. @param {string} key */
async function ask(key) {
  const call = newId()
  const options = {
    ttl: random.between(...work.ttl),
    grace: random.pick(work.graces),
    softTimeout: random.pick(work.softTimeouts),
    waitTimeout: work.waitTimeouts.length > 0 ? random.pick(work.waitTimeouts) : undefined,
    leaseTtl: work.leaseTtl,
    failureCooldown: work.failureCooldown,
    hardTimeout: work.hardTimeout,
    tags: tagsOf(key),
  }
  const plan = planOf(key)
  const { ttl, grace, waitTimeout = otherwise.waitTimeout } = options
  const inHalves = work.halves > 0 && random.next() < work.halves
  // A leader loads for itself when it has waited.
  const within = waitTimeout + (inHalves ? (work.hardTimeout ?? 30_000) : 0)
  const its = { ...plan, ttl, grace, inHalves }
  note({ what: 'call', at: now(), process: processIndex, call, key, within, grace })
  const asked = inHalves
    ? begin(key, call, its, options)
    : cache.getOrLoad(key, (context) => load(context, call, its), options)
  const answered = asked.then(
    (value) => {
      const { key: ofKey, by } = value ?? {}
      note({ what: 'answer', at: now(), process: processIndex, call, value: { key: ofKey, by } })
      return value
    },
    (error) => {
      const told =
        loadFailure(error) === undefined
          ? { error: error.code ?? String(error), by: error.message }
          : { error: 'LOAD_FAILED', by: error.message }
      note({ what: 'answer', at: now(), process: processIndex, call, ...told })
    },
  )
  return await kept(answered)
}

/**
 * The same in two halves. A leader that hangs never calls.
 * @param {string} key
 * @param {string} call
 * @param {Parameters<typeof load>[2]} plan
 * @param {import('../../src/index.ts').CallOptions} options
 * @returns {Promise<any>}
 */
async function begin(key, call, plan, options) {
  const begun = await cache.begin(key, options)
  if (begun.state !== 'lead') return begun.value
  const { signal, fence } = begun
  const late = new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
  const made = await Promise.race([load({ key, signal, fence, doNotStore: () => {} }, call, plan), late])
  await begun.fill(made)
  return made
}

/**
 * What a load of a key will do, if this caller's loader runs.
 * @param {string} key
 */
function planOf(key) {
  const drawn = random.next()
  /** @type {Ending | 'value'} */
  let ending = Number(key.slice(4)) < work.privateKeys && key.startsWith('hot') ? 'must not be stored' : 'value'
  let share = 0
  for (const [name, part] of Object.entries(work.source)) {
    if (drawn >= share && drawn < share + part) ending = /** @type {Ending} */ (name)
    share += part
  }
  // A slow load that waits for another one, or is itself waited for, would take longer than callers are ready to wait.
  const isPart = key.startsWith('part')
  const slow = random.next() < work.slow && !isPart
  const ms = slow ? work.slowTime : random.between(...work.loadTime)
  const part = random.next() < work.nested && !slow && !isPart ? `part ${random.between(0, 9)}` : null
  const large = random.next() < work.large
  return { ending, ms, part, more: key.startsWith('huge') ? huge : large ? 6_000 : 0 }
}

/**
 * The loader. It notes its beginning before anything else and its end after everything else.
 * @param {Pick<LoadContext, 'key' | 'signal' | 'fence' | 'doNotStore'>} context
 * @param {string} call
 * @param {ReturnType<typeof planOf> & { ttl: number, grace: number, inHalves: boolean }} plan
 */
function load({ key, signal, fence, doNotStore }, call, { ending, ms, part, more, ttl, grace, inHalves }) {
  const id = newId()
  const ofLoad = { process: processIndex, load: id }
  const at = now()
  const why = fence === null ? { trouble: `${trouble.message}, ${(at - trouble.at).toFixed(0)} ms before` } : {}
  note({ what: 'load', at, ...ofLoad, call, key, fence: fence === null ? null : String(fence), ttl, grace, ...why })
  flush()
  signal.addEventListener('abort', () => note({ what: 'lost', at: now(), ...ofLoad, code: signal.reason.code }))
  let isOver = false
  // Then everybody leads. Its caller has asked in this way, however others ask by now.
  if (inHalves) signal.addEventListener('abort', () => signal.reason.code === 'LOAD_TIMEOUT' && ended('pass'))
  const ended = (/** @type {'value' | 'error' | 'pass'} */ ends) => {
    if (isOver) return
    isOver = true
    note({ what: 'loaded', at: now(), ...ofLoad, ends })
    flush()
  }
  const failure = () => {
    ended('error')
    return new Error(id)
  }
  if (ending === 'throws at once') throw failure()
  if (ending === 'hangs') return new Promise(() => {})
  const loading = (async () => {
    if (ms > 0) await pause(ms)
    // A cache that is about to close takes no more calls.
    if (part !== null && asking && (await ask(part)) === undefined) throw failure()
    if (ending === 'throws') throw failure()
    if (ending === 'must not be stored') doNotStore()
    const isUnstored = ending === 'must not be stored' || ending === 'returns garbage'
    ended(isUnstored ? 'pass' : 'value')
    if (ending === 'returns garbage') return { key, by: id, garbage: () => {} }
    return { key, by: id, ...(more > 0 ? { more: '.'.repeat(more) } : {}) }
  })()
  // Nobody may be waiting for it: it refreshes what has been served, or has lost its lease.
  void kept(loading.catch(() => {}))
  return loading
}

/**
 * @param {'set' | 'invalidate'} kind
 * @param {string} key
 */
function write(kind, key, ttl = random.between(...work.ttl)) {
  return written(kind, [key], ttl, (id) => {
    return kind === 'set' ? cache.set(key, { key, by: id }, { ttl, tags: tagsOf(key) }) : cache.invalidate(key)
  })
}

/** Invalidates a tag, which is the same as all keys that have it. @param {number} tag */
function writeTag(tag) {
  const keys = Array.from({ length: work.hotKeys }, (_, number) => `hot ${number}`)
  const name = `tag ${tag}`
  const its = keys.filter((key) => tagsOf(key).includes(name))
  return written('invalidate', its, undefined, () => cache.invalidateTags([name]))
}

/** @param {string} key */
function tagsOf(key) {
  return work.tags > 0 && key.startsWith('hot') ? [`tag ${Number(key.slice(4)) % work.tags}`] : []
}

/**
 * @param {'set' | 'invalidate'} kind
 * @param {readonly string[]} keys
 * @param {number | undefined} ttl
 * @param {(id: string) => Promise<void>} run
 */
function written(kind, keys, ttl, run) {
  const id = newId()
  const within = work.commandTimeout ?? otherwise.commandTimeout
  const all = keys.map((key, index) => ({ key, of: { process: processIndex, write: index === 0 ? id : newId() } }))
  for (const { key, of } of all)
    note({ what: 'write', at: now(), ...of, key, kind, within, ...(ttl === undefined ? {} : { ttl }) })
  // It may be the last thing that is known of this process.
  flush()
  const ended = (/** @type {{ error?: string }} */ how) => {
    for (const { of } of all) note({ what: 'written', at: now(), ...of, ...how })
  }
  return kept(
    run(id).then(
      () => ended({}),
      (error) => ended({ error: error.code ?? String(error) }),
    ),
  )
}

/**
 * @template T
 * @param {Promise<T>} promise
 */
function kept(promise) {
  open.add(promise)
  void promise.finally(() => open.delete(promise))
  return promise
}

async function allEnded() {
  while (open.size > 0) await Promise.all(open)
}

/** Notes all commands that the client is given from now on. */
async function countCommands() {
  if (counting) return
  counting = true
  await hearCommands(client, (name) => sentAfterwards.push(name))
}

/** What keeps this process alive, besides the test's own connection. */
async function resourcesLeft() {
  for (let round = 0; ; round++) {
    const resources = process.getActiveResourcesInfo()
    resources.splice(resources.indexOf('TCPSocketWrap'), 1)
    // A client that has been ended looks after its broken connections for two seconds more; that of ioredis 5 takes three
    // to let go of the memory for a large reply, bit by bit.
    if (resources.length === 0 || round === 500) return resources
    await pause(10)
  }
}

/** Milliseconds since the origin, by the clock that all processes of this machine share; never the same twice. */
function now() {
  const at = Number(process.hrtime.bigint() - origin) / 1e6
  lastMoment = at > lastMoment ? at : lastMoment + 1e-6
  return lastMoment
}

function newId() {
  return `${processIndex}.${++lastId}`
}

/** @param {Happening} happening */
function note(happening) {
  notes.push(happening)
}

function flush() {
  tell({ notes })
  notes = []
}
