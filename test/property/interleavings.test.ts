import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createCache, memoryStore, type CacheOptions } from '../../src/index.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { operations, play, type Operation } from './play.ts'
import { SlowStore } from './slow-store.ts'

const caches = 3

interface World {
  readonly all: Operation[]
  readonly options: CacheOptions
  /** The longest that something is under way between a process and the store, in milliseconds. */
  readonly distance: number
  /** How many of a hundred messages, and of a hundred commands, get lost. */
  readonly lostMessages: number
  readonly lostCommands: number
  /** What delays and losses are drawn from. */
  readonly seed: number
}

const world: fc.Arbitrary<World> = fc.record({
  all: operations({ within: 400, caches, most: 40 }),
  options: fc.record({
    ttl: fc.constantFrom(1, 100, 60_000),
    grace: fc.constantFrom(0, 300, 60_000),
    leaseTtl: fc.constantFrom(300, 10_000),
    failureCooldown: fc.constantFrom(0, 100),
    softTimeout: fc.constantFrom(0, 0, 50),
  }),
  distance: fc.constantFrom(0, 3, 20, 20),
  lostMessages: fc.constantFrom(0, 0, 30),
  lostCommands: fc.constant(0),
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

/** Plays it on virtual time; resolves with what went wrong. */
async function played({ all, options, distance, lostMessages, lostCommands, seed }: World): Promise<string[]> {
  const clock = new FakeClock()
  const random = drawnFrom(seed)
  const store = memoryStore({ clock })
  const way = {
    // Mostly as short as it gets, and now and then so long that everything else comes first.
    delay: () => Math.round(random() * distance * (random() < 0.15 ? 5 : 0.3)),
    losesMessage: () => random() * 100 < lostMessages,
    losesCommand: () => random() * 100 < lostCommands,
  }
  const fleet = Array.from({ length: caches }, () =>
    createCache({ ...options, clock, store: new SlowStore(store, clock, way) }),
  )
  const pause = (ms: number): Promise<void> => new Promise((resolve) => clock.after(ms, resolve))
  let faults: string[] | undefined
  const done = play(all, { caches: fleet, pause, prefix: '', faulty: lostCommands > 0 }).then(
    (found) => (faults = found),
  )
  // Beyond every timeout there is.
  for (let minutes = 0; minutes < 2 && faults === undefined; minutes++) await clock.advance(60_000)
  if (faults === undefined) return ['somebody was never answered']
  await done
  const closed = Promise.all(fleet.map((cache) => cache.close()))
  await clock.advance(60_000)
  await closed
  return clock.pending === 0 ? faults : [...faults, `${clock.pending} timers are left`]
}

/** Enough to find each break of the protocol that we have tried; more find none either. */
const numRuns = 300

describe('whatever several processes do on one store', () => {
  test('no call gets a value from before an invalidation that had resolved, and every call is answered (rule 4)', async () => {
    const property = fc.asyncProperty(world, async (given) => {
      expect(await played(given)).toEqual([])
    })
    await fc.assert(property, { numRuns })
  })

  test('that is so although commands get lost, there or back (rule 4, rule 12)', async () => {
    const property = fc.asyncProperty(world, fc.constantFrom(1, 5, 30), async (given, lostCommands) => {
      expect(await played({ ...given, lostCommands })).toEqual([])
    })
    await fc.assert(property, { numRuns })
  })
})
