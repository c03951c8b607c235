import { strict as assert } from 'node:assert'
import { namespacePrefix } from '../../core/entry/key.ts'
import type { Copies, Store, Watch } from '../../core/contract/store.ts'
import { within } from '../waiting.ts'
import { value, type ContractTest, type Scene } from './scene.ts'

/** The promise to tell lasts for longer than this, in milliseconds, where a process does not stand still. */
const promised = 100

/** Records notifications without keeping copies. */
class Told implements Copies {
  readonly keys: string[] = []
  readonly tags: string[] = []

  drop(keys: readonly string[]): void {
    this.keys.push(...keys)
  }

  dropTags(tags: readonly string[]): void {
    this.tags.push(...tags)
  }

  dropAll(): void {}
}

/** Watches a namespace; resolves once the store promises notifications. */
async function watched(
  scene: Scene,
  store: Store,
  namespace = namespacePrefix('contract'),
): Promise<{ told: Told; watch: Watch }> {
  const told = new Told()
  assert(store.watch !== undefined, 'the store has a method `watch`')
  const watch = store.watch(namespace, told)
  watch.keep(60_000)
  await standing(scene, watch)
  return { told, watch }
}

/** Resolves when a promise to tell stands: that of a process that was blocked has ended for a moment. */
async function standing(scene: Scene, watch: Watch): Promise<void> {
  await scene.until('the store promises to tell', async () => watch.until > performance.now() || undefined)
}

/** Notifications about near copies. */
export const copies: readonly ContractTest[] = [
  {
    title: 'whoever keeps copies has been told what goes when a set or an invalidation is done, wherever (rule 4)',
    async run(scene) {
      const all = await Promise.all(scene.stores.map((store) => watched(scene, store)))
      const change = async (store: Store): Promise<void> => {
        for (const { watch } of all) await standing(scene, watch)
        const [set, invalidated, tag] = [scene.key('💥 "\n'), scene.key(), scene.key()]
        await scene.set(store, set, value('v'))
        for (const { told } of all) assert(told.keys.includes(set), 'a key that is set')
        await store.invalidate(invalidated)
        for (const { told } of all) assert(told.keys.includes(invalidated), 'a key that is invalidated')
        await store.invalidateTags([scene.key(), tag])
        for (const { told } of all) assert(told.tags.includes(tag), 'a tag that is invalidated')
        const [expired, softTag] = [scene.key(), scene.key()]
        await store.invalidate(expired, 'soft')
        for (const { told } of all) assert(told.keys.includes(expired), 'a key that is softly invalidated')
        await store.invalidateTags([softTag], 'soft')
        for (const { told } of all) assert(told.tags.includes(softTag), 'a tag that is softly invalidated')
      }
      for (const store of scene.stores) await within(promised, () => change(store))
      for (const { watch } of all) watch.close()
    },
  },
  {
    title: 'whoever keeps copies is told of a value that replaces a fresh one',
    async run(scene) {
      const { told, watch } = await watched(scene, scene.a)
      await within(promised, async () => {
        await standing(scene, watch)
        const key = scene.key()
        const { token } = await scene.load(scene.b, key, value('old'))
        const before = told.keys.length
        const lease = await scene.lease(scene.b, key, { known: token, unwanted: token })
        assert.equal(await scene.b.fill(lease, value('new')), true)
        await scene.until('it is told', async () => {
          assert(watch.until > performance.now(), 'the promise stands')
          return told.keys.slice(before).includes(key) || undefined
        })
      })
      watch.close()
    },
  },
  {
    title: 'whoever keeps copies is told of its own namespace alone, and nothing any more once it has ceased to',
    async run(scene) {
      const { told, watch } = await watched(scene, scene.a)
      const other = await watched(scene, scene.a, 'other:')
      const key = scene.key()
      await scene.b.invalidate(key)
      await scene.b.invalidateTags([key])
      assert.deepEqual([other.told.keys, other.told.tags], [[], []])
      watch.close()
      const next = scene.key()
      await scene.b.invalidate(next)
      assert(!told.keys.includes(next), 'who has ceased is not told')
      other.watch.close()
    },
  },
]
