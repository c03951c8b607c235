import { strict as assert } from 'node:assert'
import { randomBytes } from 'node:crypto'
import type { Failure } from '../../core/errors.ts'
import { namespacePrefix } from '../../core/entry/key.ts'
import type { Claim, ClaimRequest, Entry, Lease, NewValue, Outcome, Store, Wait } from '../../core/contract/store.ts'
import { tokens } from '../../core/lease/token.ts'
import { inTime, until } from '../waiting.ts'

/** Stores that share one backing. */
export interface OpenStores {
  /**
   * At least two stores that share only the place of their values, as in two processes. If values live in the store
   * itself, the same store twice. The suite calls `open()` and `close()` of each.
   */
  readonly stores: readonly Store[]
  /** Closes everything else that was opened, such as clients; called after each store was closed. */
  readonly close: () => Promise<void>
}

/** One test of the contract. */
export interface ContractTest {
  readonly title: string
  readonly run: (scene: Scene) => Promise<void>
}

/** A failure with all the parts that one can have. */
export const failure: Failure = {
  code: 'LOAD_FAILED',
  message: 'Loading "k" failed: Verbindung getrennt 💥 "quoted"\n',
  cause: { name: 'DatabaseError', message: 'Verbindung getrennt 💥', code: '57P01' },
}

/** The ttl of a lease that outlives its test, in milliseconds. */
const long = 60_000

/** For how long a store remembers a load that has ended, in milliseconds, for those who waited for it and for what is sent twice. */
export const remembered = 1_000

/** The stores and helpers of one test: at least two stores on one backing, with keys and tokens unique to the test. */
export class Scene {
  readonly a: Store
  readonly b: Store
  readonly stores: readonly Store[]
  readonly pushes: boolean
  readonly timeout: number
  readonly token: () => string = tokens()
  readonly #end: () => Promise<void>
  /** The common prefix of all its keys. */
  readonly prefix: string = `${namespacePrefix('contract')}${randomBytes(9).toString('base64url')}:`
  #keys = 0

  private constructor({ stores, close }: OpenStores, options: { pushes: boolean; timeout: number }) {
    const [a, b] = stores
    assert(a !== undefined && b !== undefined, 'Expected `open` of storeContract to give two stores or more')
    this.stores = stores
    this.a = a
    this.b = b
    this.#end = close
    this.pushes = options.pushes
    this.timeout = options.timeout
  }

  static async open(open: () => Promise<OpenStores>, options: { pushes: boolean; timeout: number }): Promise<Scene> {
    const scene = new Scene(await open(), options)
    for (const store of scene.stores) store.open()
    if (scene.pushes) await scene.#pushing()
    return scene
  }

  /** Waits until outcomes are pushed: a store may need a moment, and the tests are about the time after it. */
  async #pushing(): Promise<void> {
    const key = this.key()
    const lease = await this.lease(this.a, key)
    for (const store of this.stores) {
      await this.until('outcomes are pushed', async () => {
        const wait = await this.wait(store, key)
        wait.leave()
        return wait.pushed || undefined
      })
    }
    await this.a.release(lease)
  }

  async close(): Promise<void> {
    await Promise.all(this.stores.map((store) => store.close()))
    await this.#end()
  }

  /** A unique key, in the form that caches give to stores: a namespace, a colon, the rest. */
  key(rest = ''): string {
    return `${this.prefix}${++this.#keys}:${rest}`
  }

  claim(store: Store, key: string, more: Partial<ClaimRequest> = {}): Promise<Claim> {
    return store.claim({ key, token: this.token(), leaseTtl: long, ...more })
  }

  /** Claims a key; must win the lease. */
  async lease(store: Store, key: string, more: Partial<ClaimRequest> = {}): Promise<Lease> {
    return expected(await this.claim(store, key, more), 'lease').lease
  }

  /** Claims a key; must be told to wait. */
  async wait(store: Store, key: string, more: Partial<ClaimRequest> = {}): Promise<Wait> {
    return expected(await this.claim(store, key, more), 'wait')
  }

  /** Loads a key: claims it and fills it. */
  async load(store: Store, key: string, filled: NewValue): Promise<Lease> {
    const lease = await this.lease(store, key)
    assert.equal(await store.fill(lease, filled), true, 'a held lease fills')
    return lease
  }

  /** Sets a value; returns its token. */
  async set(store: Store, key: string, written: NewValue): Promise<string> {
    const token = this.token()
    await store.set(key, token, written, this.timeout)
    return token
  }

  /** The result of a promise, which must settle within the timeout of the suite. */
  inTime<T>(promise: Promise<T>, what: string): Promise<T> {
    return inTime(promise, what, this.timeout)
  }

  /** Repeats a question until the answer is not `undefined`. */
  until<T>(what: string, ask: () => Promise<T>): Promise<NonNullable<T>> {
    return until(what, ask, this.timeout)
  }

  /** Claims a key repeatedly until the answer has this state. */
  async claimUntil<State extends Claim['state']>(
    store: Store,
    key: string,
    state: State,
    more: Partial<ClaimRequest> = {},
  ): Promise<Claim & { state: State }> {
    return this.until(`a claim is answered '${state}'`, async () => {
      const claim = await this.claim(store, key, more)
      if (claim.state === 'wait') claim.leave()
      return claim.state === state ? (claim as Claim & { state: State }) : undefined
    })
  }

  /** The outcome of a wait, which must arrive by a message. */
  async outcome(wait: Wait): Promise<Outcome> {
    const outcome = await this.inTime(wait.outcome, 'the outcome of a wait comes')
    wait.leave()
    return outcome
  }

  /** The entry with which a wait ended: from the message, or from the store if the message says so. */
  async filled(store: Store, key: string, wait: Wait): Promise<Entry> {
    const outcome = await this.outcome(wait)
    if (outcome.state === 'read') return found(await store.read(key))
    return expected(outcome, 'filled').entry
  }
}

/** Asserts the state of an answer. */
export function expected<Answer extends { readonly state: string }, State extends Answer['state']>(
  answer: Answer,
  state: State,
): Answer & { readonly state: State } {
  assert.equal(answer.state, state)
  return answer as Answer & { readonly state: State }
}

/** Asserts that there is an entry. */
export function found(entry: Entry | null): Entry {
  assert(entry !== null, 'the value is there')
  return entry
}

/** Asserts that a value may not be served any more. */
export function gone(entry: Entry | null): void {
  assert(entry === null || (entry.freshFor <= 0 && entry.staleFor <= 0), 'the value may not be served')
}

/** Asserts the text of an entry. */
export function holds(entry: Entry | null, text: string): void {
  assert.equal(found(entry).payload.toString(), text)
}

/** A value to write: a text or bytes, fresh for a minute by default. */
export function value(content: string | Uint8Array, more: Partial<NewValue> = {}): NewValue {
  const payload = typeof content === 'string' ? Buffer.from(content) : content
  return { payload, ttl: 60_000, grace: 0, loadTime: 5, inlineLimit: 4_096, ...more }
}
