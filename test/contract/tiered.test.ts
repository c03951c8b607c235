import { expect, test } from 'vitest'
import { createCache, locked, memoryLock, memoryStore, tiered } from '../../src/index.ts'
import { storeContract } from '../../src/testing/index.ts'

storeContract({
  name: 'tiered, before a memoryStore',
  test,
  open: async () => {
    const far = memoryStore()
    return { stores: [tiered({}, far), tiered({}, far)], close: async () => {} }
  },
  patience: 60_000,
})

test('tiered: caches that share it share its copies', async () => {
  const far = memoryStore()
  let reads = 0
  const counted = Object.create(far, {
    read: {
      value: (key: string) => {
        reads++
        return far.read(key)
      },
    },
  })
  for (const method of ['claim', 'fill', 'set', 'invalidate', 'watch', 'open', 'close'] as const) {
    Object.defineProperty(counted, method, { value: far[method]?.bind(far) })
  }
  const store = tiered({ ttl: '1m' }, counted)
  const caches = [createCache({ store }), createCache({ store })]
  await caches[0]?.set('k', { n: 1 })
  for (let call = 0; call < 10; call++) {
    for (const cache of caches) expect(await cache.getOrLoad('k', () => ({ n: 2 }))).toEqual({ n: 1 })
  }
  expect(reads).toBe(1)
  for (const cache of caches) await cache.close()
})

test('tiered: whoever waits for a new value that is too large for a message is not given the copy it replaces', async () => {
  const far = memoryStore()
  // What b would be told of the change is still on its way.
  const deaf = { until: Number.POSITIVE_INFINITY, keep: () => undefined, close: () => undefined }
  const late = new Proxy(far, {
    get(store, name) {
      if (name === 'watch') return () => deaf
      const member: unknown = Reflect.get(store, name)
      return typeof member === 'function' ? member.bind(store) : member
    },
  })
  const [a, b] = [tiered({ ttl: '1h' }, far), tiered({ ttl: '1h' }, late)]
  const value = { payload: Buffer.from('old'), ttl: 60_000, grace: 0, loadTime: 0, inlineLimit: 0 }
  await far.set('ns:k', 'a token of 16 ch', value)
  for (const store of [a, b]) await store.read('ns:k')
  const claimed = (store: typeof a, token: string) =>
    store.claim({ key: 'ns:k', token, leaseTtl: 60_000, unwanted: 'a token of 16 ch' })
  const [lease, wait] = [await claimed(a, 'another token 16'), await claimed(b, 'a third token 16')]
  if (lease.state !== 'lease' || wait.state !== 'wait') throw new Error('Expected a lease and a wait')
  // Once more a copy.
  await b.read('ns:k')
  await a.fill(lease.lease, { ...value, payload: Buffer.from('new') })
  await wait.outcome
  expect((await b.read('ns:k'))?.payload.toString()).toBe('new')
})

test('tiered: a value in it ages', async () => {
  const store = tiered({ ttl: '1h' }, memoryStore())
  store.open()
  const value = { payload: Buffer.from('v'), ttl: 60_000, grace: 60_000, loadTime: 7, inlineLimit: 0 }
  await store.set('ns:k', 'a token of 16 ch', value)
  const first = await store.read('ns:k')
  const moment = performance.now()
  while (performance.now() < moment + 2) await new Promise((resolve) => setImmediate(resolve))
  const second = await store.read('ns:k')
  if (first === null || second === null) throw new Error('Expected a value')
  const older = second.age - first.age
  expect(older).toBeGreaterThanOrEqual(1)
  expect(second.freshFor).toBeCloseTo(first.freshFor - older, 3)
  expect(second.staleFor).toBeCloseTo(first.staleFor - older, 3)
  expect(second).toMatchObject({ token: first.token, version: first.version, loadTime: 7, tags: [], validators: null })
  await store.close()
})

test('tiered: is refused before a store that does not tell what goes, and with what are no bounds', () => {
  const plain = locked({ get: async () => null, set: async () => undefined }, memoryLock())
  expect(() => tiered({}, plain)).toThrow('Expected a store that tells what goes')
  expect(() => tiered({}, undefined as never)).toThrow(TypeError)
  expect(() => tiered({ mx: 1 } as never, memoryStore())).toThrow('Unknown option `mx`')
})
