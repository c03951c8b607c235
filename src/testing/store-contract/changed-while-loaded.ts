import { strict as assert } from 'node:assert'
import { pause } from '../waiting.ts'
import { value, type Scene } from './scene.ts'

/** How often the source changes. */
const rounds = 20

/**
 * Changes a source and invalidates its value again and again, while two others load and read it: none of them is given a fresh value from before
 * an invalidation that had ended when they asked.
 */
export async function changedWhileLoaded(
  scene: Scene,
  { grace, change }: { grace: number; change: (key: string, tag: string) => Promise<void> },
): Promise<void> {
  const [key, tag] = [scene.key(), scene.key()]
  /** The last version of the source whose invalidation had ended. */
  let invalidated = 0
  let source = 0
  const write = async (): Promise<void> => {
    while (source < rounds) {
      const now = ++source
      await change(key, tag)
      invalidated = now
    }
  }
  const read = async (): Promise<void> => {
    while (invalidated < rounds) {
      const least = invalidated
      const entry = await scene.b.read(key)
      if (entry !== null && entry.freshFor > 0) {
        const seen = Number(entry.payload.toString())
        assert(seen >= least, `a value as of change ${seen} was fresh after ${least} had been invalidated`)
        continue
      }
      const claim = await scene.claim(scene.b, key, { unwanted: entry?.token })
      if (claim.state === 'wait') claim.leave()
      if (claim.state !== 'lease') continue
      const loaded = String(source)
      await pause(1)
      await scene.b.fill(claim.lease, value(loaded, { tags: [tag], grace }))
    }
  }
  await Promise.all([write(), read(), read()])
}
