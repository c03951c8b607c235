import fc from 'fast-check'
import { CacheError, type Cache, type CallOptions } from '../../src/index.ts'
import { History } from './history.ts'

/** What one of the processes does at some moment. */
export interface Operation {
  /** Milliseconds from the start. */
  readonly at: number
  /** Which of the caches does it. */
  readonly cache: number
  readonly key: string
  readonly what: 'load' | 'invalidate' | 'set'
  /** How long the loader takes, in milliseconds. */
  readonly takes: number
  /** What comes of the loader. */
  readonly ends: 'value' | 'error' | 'not to be stored'
  readonly options: CallOptions
}

/** @param within milliseconds in which all operations begin */
export function operations({
  within,
  caches,
  most,
}: {
  within: number
  caches: number
  most: number
}): fc.Arbitrary<Operation[]> {
  const load = fc.constant<Operation['what']>('load')
  const operation: fc.Arbitrary<Operation> = fc.record({
    at: fc.nat(within),
    cache: fc.nat(caches - 1),
    key: fc.constantFrom('k', 'k', 'k', 'k', 'k', 'l'),
    what: fc.oneof(
      { arbitrary: load, weight: 3 },
      fc.constantFrom<Operation['what']>('invalidate', 'invalidate', 'set'),
    ),
    takes: fc.oneof(fc.constant(0), fc.nat(Math.ceil(within / 4))),
    ends: fc.constantFrom<Operation['ends']>('value', 'value', 'value', 'value', 'error', 'not to be stored'),
    options: fc.constantFrom<CallOptions>(
      {},
      {},
      {},
      { grace: 0 },
      { softTimeout: 20 },
      { ttl: 1 },
      { waitTimeout: 10_000 },
    ),
  })
  return fc.array(operation, { minLength: 3, maxLength: most })
}

/** How a process waits, by its own clock. */
export type Pause = (ms: number) => Promise<void>

/** Where it is played. */
export interface Stage {
  readonly caches: readonly Cache[]
  readonly pause: Pause
  /** Stands before every key. */
  readonly prefix: string
  /** Whether commands get lost, so that writes may be rejected, and a key may be loaded twice. */
  readonly faulty: boolean
}

/**
 * Does it all, and resolves when every call is answered. As soon as a write has resolved, every process asks for its
 * key: that is when an old value would be found.
 * @returns what went wrong, in words
 */
export async function play(all: readonly Operation[], stage: Stage): Promise<string[]> {
  const played = new Play(stage)
  await Promise.all(all.map((operation) => played.perform(operation)))
  return played.history.faults
}

class Play {
  readonly history: History
  readonly #stage: Stage

  constructor(stage: Stage) {
    this.#stage = stage
    this.history = new History({ oneLoad: !stage.faulty })
  }

  async perform(operation: Operation): Promise<void> {
    const { caches, pause, prefix, faulty } = this.#stage
    const { what } = operation
    const key = prefix + operation.key
    await pause(operation.at)
    const cache = caches[operation.cache]
    if (cache === undefined) throw new Error(`There is no cache ${operation.cache}`)
    // A call that was rejected has been answered: where a granted lease got lost, others wait for its end, and may lose
    // patience. A write that was rejected promises nothing.
    if (what === 'load')
      return await this.#expecting(['LOAD_FAILED', faulty && 'WAIT_TIMEOUT'], this.#load(operation, key, cache))
    await this.#expecting([faulty && 'STORE_UNAVAILABLE'], this.#write(what, key, cache))
    const asked = caches.map((each) => this.#load({ ...operation, ends: 'value' }, key, each))
    await Promise.all(asked.map((call) => this.#expecting(['LOAD_FAILED', faulty && 'WAIT_TIMEOUT'], call)))
  }

  async #load({ takes, ends, options }: Operation, key: string, cache: Cache): Promise<void> {
    const asking = this.history.call(key)
    const value = await cache.getOrLoad(
      key,
      async ({ doNotStore, fence }) => {
        const { made, end } = this.history.load(key, fence !== null, asking)
        try {
          if (takes > 0) await this.#stage.pause(takes)
          if (ends === 'error') throw new Error('of the source')
          if (ends === 'not to be stored') doNotStore()
          return made
        } finally {
          end()
        }
      },
      options,
    )
    asking.got(value)
  }

  async #write(what: 'invalidate' | 'set', key: string, cache: Cache): Promise<void> {
    if (what === 'set') {
      const { made, end, resolved } = this.history.set(key)
      await cache.set(key, made)
      end()
      resolved()
    } else {
      const { resolved } = this.history.write(key)
      await cache.invalidate(key)
      resolved()
    }
  }

  async #expecting(codes: readonly (string | false)[], work: Promise<void>): Promise<void> {
    try {
      await work
    } catch (error) {
      const code = error instanceof CacheError ? error.code : String(error)
      if (!codes.includes(code)) this.history.faults.push(`rejected with ${code}`)
    }
  }
}
