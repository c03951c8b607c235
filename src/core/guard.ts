import type { Clock, Timer } from './clock.ts'
import { CacheError, closed, said, type Failure } from './errors.ts'
import type { Events } from './events.ts'
import type { Claim, ClaimRequest, Entry, Lease, NewValue, Store } from './store.ts'

/** The most leases whose release is made up for. */
const mostOwed = 10_000

interface Pending {
  readonly since: number
  /** How many commands had been answered when it was sent. */
  readonly before: number
  readonly reject: (error: CacheError) => void
}

/**
 * A store that answers in time, or rejects with STORE_UNAVAILABLE: a deadline on every command, and a breaker so that
 * a silent store costs that deadline once and not on every call.
 *
 * The breaker opens on silence: a command timed out and nothing at all was answered since it was sent. While it is
 * open, commands fail at once and a ping goes out four times a second; whatever is answered closes it. Where keys live
 * on several servers there is no breaker: the silence of one must not cost the others their leases.
 */
export class GuardedStore {
  readonly #store: Store
  readonly #timeout: number
  readonly #clock: Clock
  readonly #events: Events

  // Commands under way, oldest first: all have the same deadline, so one timer serves them all.
  readonly #pending = new Set<Pending>()
  #sweep: Timer | null = null
  #sweepAt = 0

  #answers = 0
  #open: { readonly since: number; readonly error: CacheError } | null = null
  readonly #owed = new Set<Lease>()
  #probe: Timer | null = null
  #pinging = false
  #pingedAt = Number.NEGATIVE_INFINITY
  #closed = false

  constructor(store: Store, options: { timeout: number; clock: Clock; events: Events }) {
    this.#store = store
    this.#timeout = options.timeout
    this.#clock = options.clock
    this.#events = options.events
  }

  /** Whether the store is silent at the moment. */
  get away(): boolean {
    return this.#open !== null
  }

  read(key: string): Promise<Entry | null> {
    return this.#call(() => this.#store.read(key))
  }

  /** The same for hits, where each promise counts: it is settled through the caller's own. */
  readInto(
    key: string,
    now: number,
    resolve: (entry: Entry | null) => void,
    reject: (error: CacheError) => void,
  ): void {
    this.#start(() => this.#store.read(key), resolve, reject, undefined, now)
  }

  claim(request: ClaimRequest): Promise<Claim> {
    return this.#call(
      () => this.#store.claim(request),
      // Nobody is there any more to use the answer: a lease must not block its key, nor a wait be remembered for ever.
      (claim) => {
        if (claim.state === 'lease') void this.#store.release(claim.lease).catch(() => false)
        if (claim.state === 'wait') claim.leave()
      },
    )
  }

  fill(lease: Lease, value: NewValue): Promise<boolean> {
    return this.#call(() => this.#store.fill(lease, value))
  }

  fail(lease: Lease, failure: Failure, cooldown: number): Promise<boolean> {
    return this.#call(() => this.#store.fail(lease, failure, cooldown))
  }

  pass(lease: Lease, duration: number): Promise<boolean> {
    return this.#call(() => this.#store.pass(lease, duration))
  }

  /** A lease given up while the store is silent is released when it answers again: others need not wait for its end. */
  release(lease: Lease): Promise<boolean> {
    if (this.#open !== null && this.#owed.size < mostOwed) this.#owed.add(lease)
    return this.#call(() => this.#store.release(lease))
  }

  renew(leases: readonly Lease[]): Promise<boolean>[] {
    if (this.#open !== null) return leases.map(() => this.#call(() => Promise.resolve(false)))
    return this.#store.renew(leases).map((answer) => this.#call(() => answer))
  }

  set(key: string, token: string, value: NewValue): Promise<void> {
    return this.#call(() => this.#store.set(key, token, value, this.#timeout))
  }

  invalidate(key: string): Promise<void> {
    return this.#call(() => this.#store.invalidate(key))
  }

  open(): void {
    this.#store.open()
  }

  close(): Promise<void> {
    this.#closed = true
    this.#sweep?.cancel()
    this.#probe?.cancel()
    for (const pending of this.#pending) this.#expire(pending)
    return this.#store.close()
  }

  #call<T>(run: () => Promise<T>, late?: (value: T) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => this.#start(run, resolve, reject, late))
  }

  #start<T>(
    run: () => Promise<T>,
    resolve: (value: T) => void,
    reject: (error: CacheError) => void,
    late?: (value: T) => void,
    since = this.#clock.now(),
  ): void {
    if (this.#closed) return reject(closed())
    if (this.#open !== null) return reject(this.#open.error)
    const pending: Pending = { since, before: this.#answers, reject }
    this.#pending.add(pending)
    if (this.#sweep === null) this.#sweepIn(this.#timeout)
    attempt(run).then(
      (value) => {
        this.#answered()
        if (this.#pending.delete(pending)) resolve(value)
        else late?.(value)
      },
      (cause: unknown) => {
        if (!this.#pending.delete(pending)) return
        const error = unavailable(cause)
        this.#events.emit('storeFailure', { error })
        reject(error)
      },
    )
  }

  #expire(pending: Pending): void {
    this.#pending.delete(pending)
    if (this.#closed) return pending.reject(closed())
    const error = new CacheError('STORE_UNAVAILABLE', `The store did not answer within ${this.#timeout} ms`)
    this.#events.emit('storeFailure', { error })
    pending.reject(error)
    if (this.#answers === pending.before && !this.#store.sharded) this.#opened(error)
  }

  #sweepIn(ms: number): void {
    this.#sweepAt = this.#clock.now() + ms
    this.#sweep = this.#clock.after(ms, this.#expireDue, 'background')
  }

  readonly #expireDue = (): void => {
    this.#sweep = null
    const now = this.#clock.now()
    // This process itself was busy: answers that came meanwhile are read after timers have run, so they get their turn.
    if (now - this.#sweepAt > 20) return this.#sweepIn(1)
    for (const pending of this.#pending) {
      const left = pending.since + this.#timeout - now
      if (left > 0) return this.#sweepIn(left)
      this.#expire(pending)
    }
  }

  #opened(error: CacheError): void {
    if (this.#open !== null || this.#closed) return
    this.#open = { since: this.#clock.now(), error }
    this.#events.emit('degraded', { error })
    this.#probeLater()
  }

  #answered(): void {
    this.#answers++
    if (this.#open === null) return
    const after = this.#clock.now() - this.#open.since
    this.#open = null
    this.#probe?.cancel()
    for (const lease of this.#owed) void this.#store.release(lease).catch(() => false)
    this.#owed.clear()
    this.#events.emit('recovered', { after })
  }

  #probeLater(): void {
    this.#probe = this.#clock.after(
      250,
      () => {
        if (this.#closed || this.#open === null) return
        // One ping at a time, unless it seems lost: a client keeps every unanswered command in its memory.
        const now = this.#clock.now()
        if (now - this.#pingedAt >= (this.#pinging ? 5_000 : 0)) this.#ping(now)
        this.#probeLater()
      },
      'background',
    )
  }

  #ping(now: number): void {
    this.#pingedAt = now
    this.#pinging = true
    this.#store.ping().then(
      () => {
        this.#pinging = false
        this.#answered()
      },
      () => {
        this.#pinging = false
      },
    )
  }
}

/** A store of the user's may throw where it should reject. */
function attempt<T>(run: () => Promise<T>): Promise<T> {
  try {
    return run()
  } catch (error) {
    return Promise.reject(error)
  }
}

/**
 * What a store's own error becomes. Only name, message and code are kept: a client hangs the whole command on its
 * errors, with the value or the password in it.
 */
function unavailable(error: unknown): CacheError {
  if (error instanceof CacheError) return error
  const { name = 'Error', code } = (error ?? {}) as { name?: unknown; code?: unknown }
  const message = said(error)
  const cause = Object.assign(new Error(message), { name }, code === undefined ? {} : { code })
  return new CacheError('STORE_UNAVAILABLE', `The store failed: ${message}`, { cause })
}
