import { AsyncLocalStorage } from 'node:async_hooks'
import { CacheError } from './errors.ts'

/** A load under way, as a node of the graph of who waits for whom in this process. */
export interface Loading {
  readonly key: string
  /** The cache it is for: two caches may use the same key for different things. */
  readonly cache: object
  /** Whether its loader still runs. */
  readonly running: boolean
  /** The load whose loader started this one and waits for it. */
  readonly parent: Loading | null
  /** What its loader waits for at this moment, an edge a call. */
  readonly waitsFor: Set<{ readonly to: Loading }>
}

/**
 * The load whose loader is running, in the asynchronous context of the caller.
 * One for all caches of the process, because a circle may run through several.
 */
export const loading: AsyncLocalStorage<Loading> = new AsyncLocalStorage<Loading>()

/** The load on whose behalf the caller runs; `null` if its loader has ended, though a timer of its making runs on. */
export function loadingNow(): Loading | null {
  let node: Loading | null = loading.getStore() ?? null
  while (node !== null && !node.running) node = node.parent
  return node
}

/** CIRCULAR_LOAD if the loader of `from` must not start a load of `key`, because it runs for a load of that very key. */
export function circleAbove(from: Loading | null, cache: object, key: string): CacheError | null {
  const chain = [key]
  for (let node = from; node !== null; node = node.parent) {
    chain.unshift(node.key)
    if (node.key === key && node.cache === cache) return circular(chain)
  }
  return null
}

/** CIRCULAR_LOAD if the loader of `from` must not wait for `to`, because `to` waits for it, directly or through others. */
export function circleThrough(from: Loading, to: Loading): CacheError | null {
  const seen = new Set<Loading>()
  const path = (node: Loading): string[] | null => {
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
