import { AsyncLocalStorage } from 'node:async_hooks'
import { CacheError } from '../errors.ts'
import type { Clock, Timer } from '../time/clock.ts'
import type { FlightOutcome } from './causal-order.ts'

/** A load under way, as a node of the graph of who waits for whom in this process. */
export interface LoadNode {
  readonly key: string
  /** The cache it is for: two caches may use the same key for different things. */
  readonly cache: object
  /** Whether its loader still runs. */
  readonly running: boolean
  /** The load whose loader started this one and waits for it. */
  readonly parent: LoadNode | null
  /** What its loader waits for at this moment, an edge a call. */
  readonly waitsFor: Set<{ readonly to: LoadNode }>
}

/**
 * The load whose loader is running, in the asynchronous context of the caller.
 * One for all caches of the process, because a circle may run through several.
 */
export const loadContextStorage: AsyncLocalStorage<LoadNode> = new AsyncLocalStorage<LoadNode>()

/** The load on whose behalf the caller runs; `null` if its loader has ended, though a timer of its making runs on. */
export function currentLoad(): LoadNode | null {
  let node: LoadNode | null = loadContextStorage.getStore() ?? null
  while (node !== null && !node.running) node = node.parent
  return node
}

/** CIRCULAR_LOAD if the loader of `from` must not start a load of `key`, because it runs for a load of that very key. */
export function circleAbove(from: LoadNode | null, cache: object, key: string): CacheError | null {
  const chain = [key]
  for (let node = from; node !== null; node = node.parent) {
    chain.unshift(node.key)
    if (node.key === key && node.cache === cache) return circular(chain)
  }
  return null
}

/** CIRCULAR_LOAD if the loader of `from` must not wait for `to`, because `to` waits for it, directly or through others. */
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

/** A flight that a loader waits for. */
interface Awaited extends LoadNode {
  /** `waiting` while it waits for a load of another process. */
  readonly state: string
  readonly outcome: Promise<FlightOutcome>
}

/** Another process's load was waited for as long as may be. */
export interface TooLong {
  readonly state: 'too long'
}

/**
 * How a loader waits for a flight. For another process's load it does so for a bounded time, because that load may be
 * waiting for ours: then it loads for itself.
 * @param bound in milliseconds
 * @returns `over` ends the wait
 * @throws CIRCULAR_LOAD if the flight waits for the loader
 */
export function waitNested(
  parent: LoadNode,
  flight: Awaited,
  bound: number,
  clock: Clock,
): { outcome: Promise<FlightOutcome | TooLong>; over: () => void } {
  const circle = circleThrough(parent, flight)
  if (circle !== null) throw circle
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
  const over = (): void => {
    timer.cancel()
    parent.waitsFor.delete(edge)
  }
  return { outcome: Promise.race([flight.outcome, tooLong]).finally(over), over }
}
