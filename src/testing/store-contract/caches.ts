import { strict as assert } from 'node:assert'
import type { Cache } from '../../core/cache/cache.ts'
import { openCache } from '../../core/cache/open-cache.ts'
import type { CacheOptions } from '../../core/options/options.ts'
import type { ContractTest, Scene } from './scene.ts'

/** So that nobody gives up a command or a wait because the machine is busy. */
const longTimeouts = { commandTimeout: '5m', waitTimeout: '5m' } as const

/** Runs a test with a cache on each store, as if in that many processes. */
async function withCaches(
  scene: Scene,
  options: CacheOptions,
  run: (caches: readonly Cache[]) => Promise<void>,
): Promise<void> {
  const caches = scene.stores.map((store) => openCache({ ...longTimeouts, ...options, store }, () => store))
  try {
    await run(caches)
  } finally {
    await Promise.all(caches.map((cache) => cache.close({ timeout: 0 })))
  }
}

/** Calls every cache several times at once. */
function askAll<T>(
  caches: readonly Cache[],
  key: string,
  loader: () => Promise<T>,
): Promise<PromiseSettledResult<T>[]> {
  const calls = caches.flatMap((cache) => Array.from({ length: 5 }, () => cache.getOrLoad(key, loader)))
  return Promise.allSettled(calls)
}

/** Invalidates a key in 20 rounds; callers after each invalidation must get a value that was loaded after it. */
async function changeAndAsk(scene: Scene, all: readonly Cache[], key = scene.key()): Promise<void> {
  let version = 0
  const loader = async (): Promise<number> => {
    const seen = version
    await scene.b.ping()
    return seen
  }
  for (let round = 0; round < 20; round++) {
    // Loads of the previous version may be at any stage in every cache while the key is invalidated.
    const before = askAll(all, key, loader)
    if (round % 2 === 0) await scene.a.ping()
    version++
    await all[round % all.length]?.invalidate(key)
    const after = await scene.inTime(askAll(all, key, loader), 'all callers are answered')
    for (const result of after) assert.deepEqual(result, { status: 'fulfilled', value: version })
    await scene.inTime(before, 'all callers are answered')
  }
}

/** The guarantees of the protocol, which only caches on the store can show. */
export const caches: readonly ContractTest[] = [
  {
    title: 'caches on it load a key once for all their callers',
    async run(scene) {
      await withCaches(scene, {}, async (all) => {
        const key = scene.key()
        let loads = 0
        const loader = async (): Promise<string> => {
          loads++
          await Promise.all(scene.stores.map((store) => store.ping()))
          return 'v'
        }
        const results = await scene.inTime(askAll(all, key, loader), 'all callers are answered')
        for (const result of results) assert.deepEqual(result, { status: 'fulfilled', value: 'v' })
        assert.equal(loads, 1)
      })
    },
  },
  {
    title: 'caches on it have one leader of a load in two halves, and void what it fills after an invalidation',
    async run(scene) {
      await withCaches(scene, {}, async (all) => {
        const key = scene.key()
        for (const outcome of ['stored', 'voided'] as const) {
          const asked = all.flatMap((cache) => Array.from({ length: 5 }, () => cache.begin<string>(key)))
          const first = await scene.inTime(Promise.race(asked), 'one is told to lead')
          assert(first.state === 'lead')
          if (outcome === 'voided') await all.at(-1)?.invalidate(key)
          assert.equal(await first.fill(outcome), outcome)
          // After an invalidation another leads, for all the others.
          const rest = asked.map(async (answer) => {
            const begun = await answer
            if (begun === first) return 'the leader'
            if (begun.state !== 'lead') return begun.value
            assert.equal(await begun.fill('new'), 'stored')
            return 'new'
          })
          const answers = await scene.inTime(Promise.all(rest), 'all are answered')
          const expected = outcome === 'stored' ? 'stored' : 'new'
          assert.deepEqual(new Set(answers), new Set(['the leader', expected]))
          await all[0]?.invalidate(key)
        }
      })
    },
  },
  {
    title: 'caches on it share a failure with all their callers, loaded once (rule 5)',
    async run(scene) {
      await withCaches(scene, { failureCooldown: '1m' }, async (all) => {
        const key = scene.key()
        let loads = 0
        const loader = async (): Promise<string> => {
          loads++
          await Promise.all(scene.stores.map((store) => store.ping()))
          throw new Error('down')
        }
        const results = await scene.inTime(askAll(all, key, loader), 'all callers are answered')
        for (const result of results) {
          assert.equal(result.status, 'rejected')
          assert.equal((result.reason as { message?: unknown }).message, 'down')
        }
        assert.equal(loads, 1)
      })
    },
  },
  {
    title: 'caches on it give nobody who asks after an invalidation a value that was loaded before it (rule 4)',
    async run(scene) {
      await withCaches(scene, {}, async (all) => {
        await changeAndAsk(scene, all)
      })
    },
  },
  {
    title: 'a cache on it that closes leaves the others their store, and its loads to them (rule 13)',
    async run(scene) {
      const [leaving, staying] = scene.stores.map((store) => openCache({ ...longTimeouts, store }, () => store))
      assert(leaving !== undefined && staying !== undefined)
      try {
        const key = scene.key()
        let begun!: () => void
        const hasBegun = new Promise<void>((resolve) => (begun = resolve))
        const hung = leaving.getOrLoad(key, () => (begun(), new Promise<string>(() => undefined)))
        const refused = assert.rejects(hung, { code: 'CLOSED' })
        await scene.inTime(hasBegun, 'the load begins')
        const taken = staying.getOrLoad(key, () => 'v')
        await leaving.close({ timeout: 0 })
        await refused
        assert.equal(await scene.inTime(taken, 'another cache takes over'), 'v')
      } finally {
        await staying.close({ timeout: 0 })
      }
    },
  },
]

/** The same guarantees with near caches. */
export const nearCaches: readonly ContractTest[] = [
  {
    title: 'caches on it that keep copies give nobody who asks after an invalidation one from before it (rule 4)',
    async run(scene) {
      await withCaches(scene, { near: {} }, async (all) => {
        const key = scene.key()
        await scene.until('all serve copies', async () => {
          await askAll(all, key, async () => -1)
          return all.every((cache) => cache.stats().nearHits > 0) || undefined
        })
        await all[0]?.invalidate(key)
        await changeAndAsk(scene, all, key)
      })
    },
  },
]
