import type { CacheOptions } from '../../../src/core/options/options.ts'
import { createCache, memoryStore, type Cache, type CacheEvents } from '../../../src/index.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { Source } from './source.ts'
import { UnreliableStore } from './unreliable-store.ts'

/** Three processes, as it were: caches with nothing in common but where their values live, on a clock that stands still. */
export interface Fleet {
  readonly clock: FakeClock
  readonly a: Cache
  readonly b: Cache
  readonly c: Cache
  readonly all: readonly Cache[]
  /** The way of each to the common store, which can be disturbed. */
  readonly ways: { readonly a: UnreliableStore; readonly b: UnreliableStore; readonly c: UnreliableStore }
  /** What a test may have them load from. */
  readonly source: Source<string>
}

/** @param options of each of the caches */
export function fleet(options: CacheOptions = {}): Fleet {
  const clock = new FakeClock()
  const store = memoryStore({ clock })
  const ways = { a: new UnreliableStore(store), b: new UnreliableStore(store), c: new UnreliableStore(store) }
  const cache = (way: UnreliableStore): Cache => createCache({ store: way, clock, ...options })
  const [a, b, c] = [cache(ways.a), cache(ways.b), cache(ways.c)]
  return { clock, a, b, c, all: [a, b, c], ways, source: new Source() }
}

/** What comes with each event of a name from now on. */
export function told<Name extends keyof CacheEvents>(cache: Cache, name: Name): CacheEvents[Name][] {
  const events: CacheEvents[Name][] = []
  cache.on(name, (event) => events.push(event))
  return events
}
