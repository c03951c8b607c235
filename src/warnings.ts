import { isError, quoted, type CacheError, type UnavailableReason } from './core/errors.ts'
import type { Clock, Timer } from './core/time/clock.ts'
import type { CacheEvents, Events } from './core/observe/events.ts'
import type { CacheOptions } from './core/options/options.ts'
import type { CachePlan } from './core/options/plan.ts'

/** The codes of the process warnings; `docs/warnings.md` has a row for each. */
export type WarningCode =
  | 'HERDLESS_STORE_UNAVAILABLE'
  | 'HERDLESS_STORE_PASSWORD'
  | 'HERDLESS_STORE_RIGHTS'
  | 'HERDLESS_STORE_READ_ONLY'
  | 'HERDLESS_STORE_FULL'
  | 'HERDLESS_PUSH_LOST'
  | 'HERDLESS_LEASE_LOST'
  | 'HERDLESS_MEMORY_STORE'
  | 'HERDLESS_TTL'
  | 'HERDLESS_KEY'
  | 'HERDLESS_CACHES'
  | 'HERDLESS_UNSTORABLE'
  | 'HERDLESS_COOKIES'
  | 'HERDLESS_MAX_AGE'

/** The codes of the reasons for which a store is unavailable and that do not pass by themselves. */
const lasting: Partial<Record<UnavailableReason, WarningCode>> = {
  password: 'HERDLESS_STORE_PASSWORD',
  rights: 'HERDLESS_STORE_RIGHTS',
  readOnly: 'HERDLESS_STORE_READ_ONLY',
  unsaved: 'HERDLESS_STORE_READ_ONLY',
  replicas: 'HERDLESS_STORE_READ_ONLY',
  full: 'HERDLESS_STORE_FULL',
}

/** How long push may be down while the store answers, in milliseconds: a subscription that broke is soon back. */
const pushTimeout = 5_000

/** How many leases a process may lose because it was blocked: one may be an accident, or a laptop that was closed. */
const mostLost = 1

/** The numbers of milliseconds that are probably no ttl: below, seconds were meant; from a year on, a point in time. */
const oddTtl = { below: 100, from: 31_536_000_000 }

/** How many caches of one namespace a process may have open. */
const mostCaches = 20

/** How many caches are open, by namespace: of all copies of this module, of which a hot reload makes ever more. */
const openCaches = Symbol.for('herdless.caches')

/**
 * Counts a cache of a namespace until it is closed.
 * @returns how many are open, and what to call at its end
 */
function counted(namespace: string): { readonly open: number; readonly close: () => void } {
  const all = ((globalThis as { [openCaches]?: Map<string, number> })[openCaches] ??= new Map<string, number>())
  const count = (change: number): number => {
    const open = (all.get(namespace) ?? 0) + change
    if (open > 0) all.set(namespace, open)
    else all.delete(namespace)
    return open
  }
  return { open: count(1), close: () => count(-1) }
}

/** What is wrong with a key from which a loader runs; `null` for nothing. */
function oddKey(key: string): string | null {
  if (!oddPart.test(key) || ofResponse.test(key)) return null
  return `The key ${quoted(key)} has a part that was hardly meant: all who make it share one value`
}

/** Whether a warning comes in time: in production it is too late, and tests do odd things on purpose. */
function isDevelopment(): boolean {
  return !/^(production|test)$/.test(process.env['NODE_ENV'] ?? '')
}

/** What is wrong with a ttl that is a number; `null` for nothing. */
function oddNumber(ms: number): string | null {
  // Tests have short ttls.
  if (!isDevelopment() || (ms >= oddTtl.below && ms < oddTtl.from)) return null
  const meant = ms < oddTtl.below ? `'${ms}s' or '${ms}ms'` : "how long it lives, such as '1h'"
  return `The ttl ${ms} is a number, and so in milliseconds: say which unit is meant, ${meant}`
}

/** What cannot be stored, such as `an instance of User`; the code of the error where a codec does not say it. */
function kindOf({ code, cause }: CacheError): string {
  return /^Cannot store (.+?) at value/.exec(isError(cause) ? cause.message : '')?.[1] ?? code
}

function remedyFor({ code }: CacheError): string {
  if (code === 'VALUE_TOO_LARGE') return 'store less, or raise `maxValueSize`'
  const plain = '`{ ...row }`, `.lean()`, `.get({ plain: true })`, `instanceToPlain`'
  return `return plain data (${plain}), or give createCache a codec`
}

/** A part of a key that was hardly meant. Not an argument in a key that `wrap` makes: there it is one of several. */
const oddPart = /(?:^|[:/|;])(?:undefined|NaN|\[object \w+\])(?=$|[:/|;])/

/** The keys of responses have what clients ask for. */
const ofResponse = /^response https?:/

/**
 * Turns what needs attention into process warnings, each kind once for this cache, and never while an event that tells
 * of it has a listener.
 */
export function warnOfTrouble(
  events: Events,
  options: CacheOptions,
  { namespace, onStoreFailure, clock }: CachePlan,
): void {
  const given = new Set<string>()
  const warnOnce = (id: string, code: WarningCode, message: string, heardAs: readonly (keyof CacheEvents)[]): void => {
    if (given.has(id) || heardAs.some((name) => events.heard(name))) return
    given.add(id)
    const detail = 'docs/warnings.md of herdless says what to do; { warnings: false } turns it off.'
    process.emitWarning(`${message} (cache '${namespace}')`, { type: 'HerdlessWarning', code, detail })
  }

  const warn = (code: WarningCode, message: string, ...heardAs: (keyof CacheEvents)[]): void =>
    warnOnce(code, code, message, heardAs)

  const consequence = onStoreFailure === 'throw' ? 'Callers get this error' : 'Callers load without the store'
  const { open, close } = counted(namespace)
  const push = new PushWatch(clock, () =>
    warn('HERDLESS_PUSH_LOST', 'Outcomes are not pushed to this process: waiters ask again and again', 'push'),
  )
  let lost = 0
  const numericTtl = (ms: number): void => {
    const what = oddNumber(ms)
    if (what !== null) warn('HERDLESS_TTL', what)
  }

  events.watch({
    at: {
      storeFailure: ({ error: { reason = 'other', message } }) =>
        warn(lasting[reason] ?? 'HERDLESS_STORE_UNAVAILABLE', `${message}. ${consequence}`, 'storeFailure', 'degraded'),
      load: ({ key }) => {
        const what = oddKey(key)
        if (what !== null) warn('HERDLESS_KEY', what)
      },
      unstorable: ({ error }) => {
        const message = `${error.message}. Until it can, its callers load for themselves: ${remedyFor(error)}`
        warnOnce(kindOf(error), 'HERDLESS_UNSTORABLE', message, ['unstorable'])
      },
      degraded: () => (push.isAway = true),
      recovered: () => (push.isAway = false),
      push: ({ up }) => push.changed(up),
      lost: ({ blocked }) => {
        if (blocked === undefined || ++lost <= mostLost) return
        const what = `This process lost ${lost} leases, because it was blocked, the last time for ${Math.round(blocked)} ms`
        warn('HERDLESS_LEASE_LOST', `${what}: its loads are run again by others`, 'lost')
      },
    },
    numericTtl,
    advise: (code, message) => {
      if (code !== 'HERDLESS_MAX_AGE' || isDevelopment()) warn(code, message)
    },
    end: () => {
      push.end()
      close()
    },
  })
  warnAtStart(warn, options, open)
  if (typeof options.ttl === 'number') numericTtl(options.ttl)
}

/** Warns of what is visible when a cache is made. */
function warnAtStart(warn: (code: WarningCode, message: string) => void, options: CacheOptions, open: number): void {
  // The next ones say no more.
  if (open === mostCaches && process.env['NODE_ENV'] !== 'test') {
    const remedy = 'make one and share it, over hot reloads by `globalThis.cache ??= createCache(…)`'
    warn('HERDLESS_CACHES', `${open} caches of this namespace are open in this process: ${remedy}`)
  }
  if (options.store === undefined && options.mode !== 'observe' && process.env['NODE_ENV'] === 'production')
    warn('HERDLESS_MEMORY_STORE', 'The cache has no store, so each process has values of its own and loads them')
}

/** Says that push is down, once it has been for long while the store answers. */
class PushWatch {
  /** Without the server there is no push either, and that is said already. */
  isAway = false
  readonly #clock: Clock
  readonly #warn: () => void
  #timer: Timer | null = null

  constructor(clock: Clock, warn: () => void) {
    this.#clock = clock
    this.#warn = warn
  }

  changed(up: boolean): void {
    this.end()
    if (!up) this.#wait()
  }

  end(): void {
    this.#timer?.cancel()
  }

  #wait(): void {
    const passed = (): void => (this.isAway ? this.#wait() : this.#warn())
    this.#timer = this.#clock.after(pushTimeout, passed, 'background')
  }
}
