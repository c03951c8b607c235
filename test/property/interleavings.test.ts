import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { played, world } from './world.ts'

/** Enough to find each break of the protocol that we have tried; more find none either. */
const numRuns = 1_000

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

  test('that is so although one of them loses its store for a while (rule 4, rule 12)', async () => {
    const outage = fc.record({ from: fc.nat(200), to: fc.integer({ min: 200, max: 1_000 }) })
    const property = fc.asyncProperty(world, outage, async (given, when) => {
      expect(await played({ ...given, outage: when })).toEqual([])
    })
    await fc.assert(property, { numRuns })
  })
})
