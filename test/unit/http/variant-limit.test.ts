import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { VariantLimit } from '../../../src/http/run/variant-limit.ts'
import { variantKey } from '../../../src/http/stored/request-key.ts'
import type { Sibling } from '../../../src/core/cache/sibling.ts'

/** A limit, and the keys of the variants that it has invalidated. */
function limitOf(most: number): { limit: VariantLimit; invalidated: string[] } {
  const invalidated: string[] = []
  const cache = { invalidate: async (key: string) => void invalidated.push(key) }
  const sibling = { cache, events: { emit: () => undefined } } as unknown as Sibling
  return { limit: new VariantLimit(sibling, most), invalidated }
}

test('the variant that was stored longest ago makes room, of each address for itself', () => {
  const { limit, invalidated } = limitOf(2)
  const variant = (key: string, selected: string): string => variantKey(key, selected)
  for (const key of ['response a', 'response b']) {
    for (const selected of ['1', '2', '1', '3']) limit.stored(key, variant(key, selected))
  }
  expect(invalidated).toEqual([variant('response a', '2'), variant('response b', '2')])
})

test('what is counted takes no more memory for long addresses, and no more than so much in all', () => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  const { limit } = limitOf(100)
  gc()
  const before = process.memoryUsage().heapUsed
  for (let address = 0; address < 3_000; address++) {
    const key = `response http://site/${String(address).padEnd(15_000, 'x')}`
    for (let selected = 0; selected < 60; selected++) limit.stored(key, variantKey(key, String(selected)))
  }
  gc()
  const bytes = process.memoryUsage().heapUsed - before
  // 45 MB of addresses, 2.7 GB of keys.
  expect(bytes).toBeLessThan(30_000_000)
  limit.stored('response last', variantKey('response last', '1'))
})
