import { loading, type Loading } from './circle.ts'
import { CacheError, closed } from './errors.ts'
import { load, type Loaded, type Stale } from './load.ts'
import { encoded } from './payload.ts'
import type { Question } from './question.ts'
import type { Shared } from './shared.ts'

/** Loads that run without a lease in one cache; nothing of them is stored. */
export class LonelyLoads {
  readonly #shared: Shared
  readonly #running = new Set<() => void>()

  constructor(shared: Shared) {
    this.#shared = shared
  }

  /** @param parent the load whose loader waits for this one */
  async run({ key, loader, plan }: Question, stale: Stale | null, parent: Loading | null): Promise<Loaded> {
    const { clock, codec, events, store, near, tagNames, tracing, unstored } = this.#shared
    const began = clock.now()
    events.emit('load', { key, leased: false })
    let giveUp!: () => void
    const lost = new Promise<CacheError>((resolve) => (giveUp = () => resolve(closed(key))))
    const node = { key, cache: store, parent, waitsFor: new Set<{ to: Loading }>(), running: true }
    const expected = near?.expectAlone(key) ?? null
    const trace = tracing.begin('load', key)
    this.#running.add(giveUp)
    try {
      const run = (): Promise<Loaded> => load({ key, loader, plan, clock, fence: null, stale, lost })
      const loaded = await trace.run(() => loading.run(node, run))
      // What could not be stored is refused here too: a value must not depend on whether the store happens to be away.
      const kept = loaded.state === 'value' ? encoded(loaded.value, key, plan.maxValueSize, codec) : null
      const outcome: Loaded = kept instanceof CacheError ? { state: 'failed', error: kept } : loaded
      if (outcome.state === 'failed')
        events.emit('failure', { key, error: outcome.error, duration: clock.now() - began })
      if (outcome.state === 'value' && kept !== null) {
        const payload = Buffer.from(kept as Uint8Array)
        unstored.add(key, began, payload)
        near?.loaded(key, expected, { ...outcome, tags: tagNames.of(key, outcome.tags), payload })
      }
      trace.end(outcome.state, 'error' in outcome ? outcome.error : undefined)
      return outcome
    } finally {
      near?.forgo(key, expected)
      node.running = false
      this.#running.delete(giveUp)
    }
  }

  /** Gives up those that are running. */
  giveUp(): void {
    for (const giveUp of this.#running) giveUp()
  }
}
