import { AsyncLocalStorage } from 'node:async_hooks'
import { CacheError } from '../errors.ts'
import type { Permit } from '../source/permit.ts'
import type { Clock, Timer } from '../time/clock.ts'

/** A load under way, as a node in the wait-for graph of this process. */
export interface LoadNode {
  readonly key: string
  /** The cache of the load: two caches may use the same key for different values. */
  readonly cache: object
  /** Whether its loader still runs. */
  readonly running: boolean
  /** The load whose loader started this one and waits for it. */
  readonly parent: LoadNode | null
  /** The permit under which its loader runs; `null` if it needs none. */
  readonly permit: Permit | null
  /** The flights that its loader waits for now, one edge per call. */
  readonly waitsFor: Set<{ readonly to: LoadNode }>
}

/**
 * An AsyncLocalStorage that is off while no loader runs: in Node.js 20, an active one makes each promise of the process
 * several times as expensive.
 */
class LoadContexts {
  readonly #storage = new AsyncLocalStorage<LoadNode>()
  #loaders = 0

  /** The load whose loader, or whose loader's work, is the current asynchronous context. */
  get current(): LoadNode | null {
    return this.#loaders === 0 ? null : (this.#storage.getStore() ?? null)
  }

  /** Runs a loader of a load; `ended` is to be called when it has settled. */
  run<T>(node: LoadNode, load: () => T): T {
    this.#loaders++
    return this.#storage.run(node, load)
  }

  ended(): void {
    if (--this.#loaders === 0) this.#storage.disable()
  }
}

/** All caches of the process share it, because a circle may run through several caches. */
export const loadContexts: LoadContexts = new LoadContexts()

/**
 * The load on whose behalf the caller runs; `null` if all loaders above it have ended, as in a timer that outlives one.
 */
export function currentLoad(): LoadNode | null {
  let node = loadContexts.current
  while (node !== null && !node.running) node = node.parent
  return node
}

/**
 * CIRCULAR_LOAD if the loader of `from` must not load `key`, because it already runs within a load of that key; else
 * `null`.
 */
export function circleAbove(from: LoadNode | null, cache: object, key: string): CacheError | null {
  const chain = [key]
  for (let node = from; node !== null; node = node.parent) {
    chain.unshift(node.key)
    if (node.key === key && node.cache === cache) return circular(chain)
  }
  return null
}

/**
 * CIRCULAR_LOAD if the loader of `from` must not wait for `to`, because `to` waits for it directly or through others;
 * else `null`.
 */
export function circleThrough(from: LoadNode, to: LoadNode): CacheError | null {
  const seen = new Set<LoadNode>()
  const path = (node: LoadNode): string[] | null => {
    if (node === from) return [node.key]
    if (seen.has(node)) return null
    seen.add(node)
    for (const next of node.waitsFor) {
      const rest = path(next.to)
      if (rest !== null) return [node.key, ...rest]
    }
    return null
  }
  const chain = path(to)
  return chain && circular([from.key, ...chain])
}

function circular(chain: readonly string[]): CacheError {
  const key = chain.at(-1) as string
  const shown = chain.map((name) => JSON.stringify(name.slice(0, 60))).join(' → ')
  return new CacheError('CIRCULAR_LOAD', `A loader waits for its own key: ${shown}`, { key })
}

/** The wait for another process's load has exceeded its bound. */
export interface TooLong {
  readonly state: 'too long'
}

/** A flight that a loader waits for. */
interface Awaited extends LoadNode {
  /** `waiting` while it waits for a load of another process. */
  readonly state: string
}

/** The wait of a loader. */
export interface NestedWait<End> {
  readonly ended: Promise<End | TooLong>
  /** The loader does not wait any more. */
  readonly leave: () => void
}

/**
 * Lets a loader wait for a flight. A load of another process may in turn wait for this loader, which this process
 * cannot see. So that wait is bounded, and after it the loader's process loads for itself.
 * @param wait.ended the end of the flight for the loader
 * @param wait.bound the longest wait for a load of another process, in milliseconds
 */
export function waitNested<End>(
  parent: LoadNode,
  flight: Awaited,
  { ended, bound, clock }: { readonly ended: Promise<End>; readonly bound: number; readonly clock: Clock },
): NestedWait<End> {
  const edge = { to: flight }
  let timer!: Timer
  parent.waitsFor.add(edge)
  const tooLong = new Promise<TooLong>((resolve) => {
    const check = (): void => {
      if (flight.state === 'waiting') resolve({ state: 'too long' })
      else timer = clock.after(bound, check)
    }
    timer = clock.after(bound, check)
  })
  const leave = (): void => {
    timer.cancel()
    parent.waitsFor.delete(edge)
  }
  return { ended: Promise.race([ended, tooLong]).finally(leave), leave }
}
