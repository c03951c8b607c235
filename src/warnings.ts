import { quoted, type UnavailableReason } from './core/errors.ts'
import type { Timer } from './core/time/clock.ts'
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
const pushPatience = 5_000

/** How many leases a process may lose because it stood still: one may be an accident, or a laptop that was closed. */
const mostLost = 1

/** The numbers of milliseconds that are probably no ttl: below, seconds were meant; from a year on, a point in time. */
const oddTtl = { below: 100, from: 31_536_000_000 }

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
  const given = new Set<WarningCode>()
  const warn = (code: WarningCode, message: string, ...heardAs: (keyof CacheEvents)[]): void => {
    if (given.has(code) || heardAs.some((name) => events.heard(name))) return
    given.add(code)
    const detail = 'docs/warnings.md of herdless says what to do; { warnings: false } turns it off.'
    process.emitWarning(`${message} (cache '${namespace}')`, { type: 'HerdlessWarning', code, detail })
  }

  const consequence = onStoreFailure === 'throw' ? 'Callers get this error' : 'Callers load without the store'
  let isAway = false
  let lost = 0
  let pushTimer: Timer | null = null
  const waitForPush = (): void => {
    pushTimer = clock.after(
      pushPatience,
      () => {
        // Without the server there is no push either, and that is said already.
        if (isAway) return waitForPush()
        warn('HERDLESS_PUSH_LOST', 'Outcomes are not pushed to this process: waiters ask again and again', 'push')
      },
      'background',
    )
  }
  const numericTtl = (ms: number): void => {
    // In production it is too late to tell, and tests have short ttls.
    if (/^(production|test)$/.test(process.env['NODE_ENV'] ?? '') || (ms >= oddTtl.below && ms < oddTtl.from)) return
    const meant = ms < oddTtl.below ? `'${ms}s' or '${ms}ms'` : "how long it lives, such as '1h'"
    warn('HERDLESS_TTL', `The ttl ${ms} is a number, and so in milliseconds: say which unit is meant, ${meant}`)
  }

  events.watch({
    at: {
      storeFailure: ({ error: { reason = 'other', message } }) =>
        warn(lasting[reason] ?? 'HERDLESS_STORE_UNAVAILABLE', `${message}. ${consequence}`, 'storeFailure', 'degraded'),
      load: ({ key }) => {
        const [part] = oddPart.exec(key) ?? []
        if (part === undefined || ofResponse.test(key)) return
        const what = `The key ${quoted(key)} has a part that was hardly meant: all who make it share one value`
        warn('HERDLESS_KEY', what)
      },
      degraded: () => (isAway = true),
      recovered: () => (isAway = false),
      push: ({ up }) => {
        pushTimer?.cancel()
        if (!up) waitForPush()
      },
      lost: ({ blocked }) => {
        if (blocked === undefined || ++lost <= mostLost) return
        const standstill = `This process lost ${lost} leases, because it stood still, the last time for ${Math.round(blocked)} ms`
        warn('HERDLESS_LEASE_LOST', `${standstill}: its loads are run again by others`, 'lost')
      },
    },
    numericTtl,
    end: () => pushTimer?.cancel(),
  })
  if (typeof options.ttl === 'number') numericTtl(options.ttl)
  if (options.store === undefined && options.mode !== 'observe' && process.env['NODE_ENV'] === 'production')
    warn('HERDLESS_MEMORY_STORE', 'The cache has no store, so each process has values of its own and loads them')
}
