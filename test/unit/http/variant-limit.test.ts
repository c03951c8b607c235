import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { VariantLimit } from '../../../src/http/exchange/variant-limit.ts'
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

test('the variants of a long address take no more memory than those of a short one', () => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  const { limit, invalidated } = limitOf(60)
  const keyOf = (address: number): string => `response http://site/${String(address).padEnd(15_000, 'x')}`
  gc()
  const before = process.memoryUsage().heapUsed
  for (let address = 0; address < 1_500; address++) {
    const key = keyOf(address)
    for (let selected = 0; selected < 60; selected++) limit.stored(key, variantKey(key, String(selected)))
  }
  gc()
  // The addresses alone have 22 MB, the keys of their variants 1.4 GB.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(15_000_000)
  limit.stored(keyOf(0), variantKey(keyOf(0), 'one more'))
  expect(invalidated).toEqual([variantKey(keyOf(0), '0')])
})

test('of more than 100,000 variants those of the address that stored one longest ago are forgotten', () => {
  const { limit, invalidated } = limitOf(1_000)
  for (let address = 0; address <= 100; address++) {
    const key = `response ${address}`
    for (let selected = 0; selected < 1_000; selected++) limit.stored(key, variantKey(key, String(selected)))
  }
  for (const key of ['response 0', 'response 100']) limit.stored(key, variantKey(key, 'one more'))
  expect(invalidated).toEqual([variantKey('response 100', '0')])
})
