import fc from 'fast-check'
import { createCache, memoryStore, type CacheOptions } from '../../src/index.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { operations, play, type Operation } from './play.ts'
import { SlowStore, type Way } from './slow-store.ts'

const caches = 3

/** What happens, and in what surroundings. */
export interface World {
  readonly all: Operation[]
  readonly options: CacheOptions
  /** The longest that something is under way between a process and the store, in milliseconds. */
  readonly distance: number
  /** How many of a hundred messages, and of a hundred commands, get lost. */
  readonly lostMessages: number
  readonly lostCommands: number
  /** When the first of the processes hears nothing from the store, and the store nothing from it: milliseconds from the start. */
  readonly outage: { readonly from: number; readonly to: number } | null
  /** What delays and losses are drawn from. */
  readonly seed: number
}

/** Worlds in which messages may get lost, and commands not yet. */
export const world: fc.Arbitrary<World> = fc.record({
  all: operations({ within: 400, caches, most: 40 }),
  options: fc.record({
    ttl: fc.constantFrom(1, 100, 60_000),
    grace: fc.constantFrom(0, 300, 60_000),
    leaseTtl: fc.constantFrom(300, 10_000),
    failureCooldown: fc.constantFrom(0, 100),
    softTimeout: fc.constantFrom(0, 0, 50),
  }),
  distance: fc.constantFrom(0, 3, 10, 10),
  lostMessages: fc.constantFrom(0, 0, 30),
  lostCommands: fc.constant(0),
  outage: fc.constant(null),
  seed: fc.nat(),
})

/** Numbers in [0, 1) that are always the same for the same seed (Tommy Ettinger's mulberry32). */
function drawnFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Plays it on virtual time, the same way each time; resolves with what went wrong, in words. */
export async function played(given: World): Promise<string[]> {
  const { all, options, distance, lostMessages, lostCommands, outage, seed } = given
  const clock = new FakeClock()
  const start = clock.now()
  const random = drawnFrom(seed)
  const store = memoryStore({ clock })
  const way = {
    // Mostly as short as it gets, and now and then so long that everything else comes first.
    delay: () => Math.round(random() * distance * (random() < 0.15 ? 5 : 0.3)),
    losesMessage: () => random() * 100 < lostMessages,
    losesCommand: () => random() * 100 < lostCommands,
  }
  const cutOff = (): boolean => outage !== null && start + outage.from <= clock.now() && clock.now() < start + outage.to
  const ways: Way[] = Array.from({ length: caches }, (_, index) =>
    index === 0
      ? {
          ...way,
          losesMessage: () => cutOff() || way.losesMessage(),
          losesCommand: () => cutOff() || way.losesCommand(),
        }
      : way,
  )
  const fleet = ways.map((each) =>
    createCache({ ...options, clock, commandTimeout: 150, store: new SlowStore(store, clock, each) }),
  )
  const drawn = Math.random
  Math.random = random
  const pause = (ms: number): Promise<void> => new Promise((resolve) => clock.after(ms, resolve))
  let faults: string[] | undefined
  try {
    const stage = { caches: fleet, pause, prefix: '', faulty: lostCommands > 0 || outage !== null }
    const done = play(all, stage).then((found) => (faults = found))
    // Beyond every timeout there is.
    for (let minutes = 0; minutes < 2 && faults === undefined; minutes++) await clock.advance(60_000)
    if (faults === undefined) return ['somebody was never answered']
    await done
    const closed = Promise.all(fleet.map((cache) => cache.close()))
    await clock.advance(60_000)
    await closed
    return clock.pending === 0 ? faults : [...faults, `${clock.pending} timers are left`]
  } finally {
    Math.random = drawn
  }
}
