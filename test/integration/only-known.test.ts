import { BloomFilter } from 'bloomfilter'
import { expect, test } from 'vitest'
import { onlyKnown } from '../../src/index.ts'
import { Caches } from '../support/caches.ts'

test('a flood of keys that do not exist leaves no key in Redis, sends it nothing, and asks the source never', async () => {
  await using caches = await Caches.start()
  const { server } = caches
  const { cache } = await caches.open()
  const bloom = BloomFilter.withTargetError(100, 1e-9)
  for (let id = 0; id < 100; id++) bloom.add(`user:${id}`)
  const known = onlyKnown(cache, { has: (key) => bloom.test(key) })
  const asked: string[] = []
  const loader = ({ key }: { key: string }): string => (asked.push(key), key)
  for (const key of ['user:1', 'user:1']) expect(await known.getOrLoad(key, loader)).toBe('user:1')
  expect(asked).toEqual(['user:1'])
  const keys = await server.client.keys('*')

  const sent = await caches.sent(async () => {
    const flood = Array.from({ length: 10_000 }, (_, index) => known.getOrLoad(`user:${index + 100}`, loader))
    expect(new Set(await Promise.all(flood))).toEqual(new Set([null]))
  })
  expect(sent).toEqual({})
  expect(asked).toEqual(['user:1'])
  expect((await server.client.keys('*')).toSorted()).toEqual(keys.toSorted())

  // Without the filter each of them is a query, and a key.
  await cache.getOrLoad('user:100', loader)
  expect(asked).toEqual(['user:1', 'user:100'])
  expect(await server.client.keys('*:user:100}')).toHaveLength(1)
})
