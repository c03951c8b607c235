/**
 * One process of a fleet: it has the built package, real clients and caches on them, and does what fleet.ts tells it
 * over a socket, in lines of JSON. It ends when that socket does.
 *
 * @typedef {import('./fleet.ts').CacheSpec} CacheSpec
 * @typedef {import('./fleet.ts').LoaderSpec} LoaderSpec
 * @typedef {import('./fleet.ts').Complaint} Complaint
 * @typedef {import('../../src/index.ts').Cache} Cache
 * @typedef {import('../../src/index.ts').LoadContext} LoadContext
 * @typedef {import('../../src/index.ts').CallOptions} CallOptions
 * @typedef {import('../../src/index.ts').CacheEvents} CacheEvents
 * @typedef {{ cache: Cache, client: import('./fleet-clients.mjs').FleetClient, events: Record<string, number> }} Member
 * @typedef {{ key: string, callers: number, loader: LoaderSpec, options: CallOptions, at: number, over: number }} Question
 */
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import {
  createCache,
  eventNames,
  loadFailure,
  obey,
  openClient,
  processIndex as firstIndex,
  redisStore,
  tell,
} from './fleet-base.mjs'

/** Sleeps for so many seconds and waits for the advisory lock 1; returns how many such queries run when it begins. */
const counting = `SELECT (SELECT count(*)::int FROM pg_stat_activity WHERE application_name = 'loader' AND state = 'active') AS running, pg_sleep($1), pg_advisory_xact_lock_shared(1)`

/** @type {Member[]} */
const members = []
/** What loaders threw here, to be told from copies. */
const thrown = new WeakSet()
/** @type {Map<number, { resolve: (value: unknown) => void, reject: (error: unknown) => void, value: string }>} */
const held = new Map()
let loads = 0
let processIndex = firstIndex
/** In how many fleets this process was before: what a loader of one of them says is of no interest any more. */
let past = 0

const actions = {
  /**
   * Forgets all, to be in another fleet.
   * @param {{ index: number }} details
   */
  async again({ index }) {
    processIndex = index
    loads = 0
    past++
    held.clear()
    for (const { cache, client } of members.splice(0)) {
      // It may have ended.
      await Promise.resolve(client.disconnect()).catch(() => undefined)
      await cache.close({ timeout: 0 })
    }
  },

  /** @param {CacheSpec & { connected: boolean }} spec */
  async open({ redis, store, cache: options, connected }) {
    const { client, connected: answers, subscribed } = await openClient(redis)
    const cache = createCache({ ...options, store: redisStore(client, store) })
    /** @type {Record<string, number>} */
    const events = Object.fromEntries(eventNames.map((name) => [name, 0]))
    for (const name of eventNames) cache.on(name, () => void (events[name] = (events[name] ?? 0) + 1))
    members.push({ cache, client, events })
    if (connected) await Promise.all([answers(), store?.wakeUp === 'poll' ? undefined : subscribed])
  },

  /** @param {Question & { id: number }} question @param {Member} member */
  async ask({ callers, at, over, ...question }, member) {
    const asking = started({ callers, at, over, ...question }, member)
    const answers = (await asking).map((answer) => answer())
    tell({ asked: question.id })
    return await Promise.all(answers)
  },

  /**
   * Many callers of many keys at once, with a loader that is counted here, or by PostgreSQL: in each query, how many run.
   * @param {{ keys: number, callers: number, ms: number, prefix: string, options: CallOptions, postgres?: object }} flood
   * @param {Member} member
   */
  async flood({ keys, callers, ms, prefix, options, postgres }, { cache }) {
    const pool = postgres === undefined ? null : new pg.Pool({ ...postgres, max: 40, application_name: 'loader' })
    /** @type {Record<string, number>} */
    const errors = {}
    const result = { right: 0, wrong: 0, loads: 0, most: 0, errors }
    const asking = []
    for (let number = 0; number < keys; number++) {
      const key = `${prefix}${number}`
      const loader = async () => {
        result.loads++
        if (pool !== null) {
          const { rows } = await pool.query(counting, [ms / 1_000])
          result.most = Math.max(result.most, rows[0].running)
        } else if (ms > 0) await pause(ms)
        return key
      }
      for (let caller = 0; caller < callers; caller++) {
        asking.push(
          cache.getOrLoad(key, loader, options).then(
            (value) => void result[value === key ? 'right' : 'wrong']++,
            (error) => void (errors[error.code] = (errors[error.code] ?? 0) + 1),
          ),
        )
      }
    }
    await Promise.all(asking)
    await pool?.end()
    return result
  },

  /** @param {{ key: string }} details @param {Member} member */
  invalidate: ({ key }, { cache }) => cache.invalidate(key),
  /** @param {{ key: string, value: unknown }} details @param {Member} member */
  set: ({ key, value }, { cache }) => cache.set(key, value),
  /** @param {{ key: string }} details @param {Member} member */
  peek: ({ key }, { cache }) => cache.peek(key),
  /** @param {{ mode?: 'cache' | 'observe' | 'off' }} details @param {Member} member */
  mode: ({ mode }, { cache }) => {
    if (mode !== undefined) cache.mode = mode
    return cache.mode
  },
  /** @param {{}} _ @param {Member} member */
  events: (_, { events }) => events,
  /** @param {{ timeout?: number }} options @param {Member} member */
  close: ({ timeout }, { cache }) => cache.close(timeout === undefined ? {} : { timeout }),

  /** @param {{ load: number }} details */
  finish: ({ load }) => held.get(load)?.resolve(held.get(load)?.value),
  /** @param {{ load: number, error: NonNullable<LoaderSpec['error']> }} details */
  fail: ({ load, error }) => held.get(load)?.reject(errorOf(error)),

  /** @param {{}} _ @param {Member} member */
  async quit(_, { client }) {
    await client.quit()
  },

  /** @param {{}} _ @param {Member} member */
  disconnect: (_, { client }) => client.disconnect(),
}

obey(
  Object.fromEntries(
    Object.entries(actions).map(([word, act]) => [
      word,
      (/** @type {{ member?: number, id: number }} */ { member = 0, ...details }) =>
        /** @type {(details: unknown, member: Member) => unknown} */ (act)(
          details,
          /** @type {Member} */ (members[member]),
        ),
    ]),
  ),
  complaintOf,
)

/**
 * Starts the callers of a question, at its moment, all in one go or spread over a time.
 * @param {Question} question
 * @param {Member} member
 * @returns {Promise<(() => Promise<unknown>)[]>} what gives the answer of each
 */
async function started({ key, callers, loader: spec, options, at, over }, { cache }) {
  while (Date.now() < at) await pause(at - Date.now())
  const loader = loaderOf(spec)
  /** @type {(() => Promise<unknown>)[]} */
  const answers = []
  const begin = performance.now()
  const start = () => {
    const startedAt = now()
    const asking = cache.getOrLoad(key, loader, options).then(
      (value) => ({ startedAt, endedAt: now(), value }),
      (error) => ({ startedAt, endedAt: now(), error: complaintOf(error) }),
    )
    answers.push(() => asking)
  }
  while (answers.length < callers) {
    const due = over === 0 ? callers : Math.min(callers, 1 + ((performance.now() - begin) / over) * callers)
    while (answers.length < Math.floor(due)) start()
    if (answers.length < callers) await pause(5)
  }
  return answers
}

/** @param {LoaderSpec} spec */
function loaderOf({ ms, length = 0, error, ttl, doNotStore }) {
  return async (/** @type {LoadContext} */ { key, signal, fence, stale, ...context }) => {
    const load = loads++
    const fleet = past
    const report = (/** @type {object} */ details) => fleet === past && tell({ ...details, at: now() })
    const value = `${key} by load ${load} of process ${processIndex}`.padEnd(length, '.')
    signal.addEventListener('abort', () => report({ aborted: load, code: signal.reason.code }))
    report({ load, key, value, fence: fence === null ? null : String(fence), stale: stale?.value ?? null })
    if (ttl !== undefined) context.ttl(ttl)
    if (doNotStore) context.doNotStore()
    try {
      if (ms === undefined) return await new Promise((resolve, reject) => held.set(load, { resolve, reject, value }))
      if (ms > 0) await pause(ms)
      if (error) throw errorOf(error)
      return value
    } finally {
      if (fleet === past) held.delete(load)
      report({ loaded: load })
    }
  }
}

/** @param {NonNullable<LoaderSpec['error']>} spec */
function errorOf({ name, message, code }) {
  const error = Object.assign(new Error(message), { code })
  error.name = name
  thrown.add(error)
  return error
}

/** @param {unknown} error @returns {Complaint} */
function complaintOf(error) {
  const { name, message, code, key, cause } =
    /** @type {Error & { code?: string, key?: string, cause?: Complaint }} */ (error)
  const failure = loadFailure(error)
  if (failure === undefined) return { name, message, code, key, own: false, cause }
  return {
    name,
    message,
    code: 'LOAD_FAILED',
    key: failure.key,
    own: thrown.has(/** @type {Error} */ (error)),
    cause: { name, message, code },
  }
}

/** Milliseconds by the clock that all processes of this machine share. */
function now() {
  return performance.timeOrigin + performance.now()
}
