import { loading, type Loading } from './circle.ts'
import type { CacheError } from './errors.ts'
import { load, type Loaded, type Stale } from './load.ts'
import type { Question } from './question.ts'
import type { Shared } from './shared.ts'

/** Loads that run without a lease in one cache; nothing of them is stored. */
export class LonelyLoads {
  readonly #shared: Shared
  readonly #running = new Set<(error: CacheError) => void>()

  constructor(shared: Shared) {
    this.#shared = shared
  }

  /** @param parent the load whose loader waits for this one */
  async run({ key, loader, plan }: Question, stale: Stale | null, parent: Loading | null): Promise<Loaded> {
    const { clock, events, store } = this.#shared
    events.emit('load', { key, leased: false })
    let giveUp!: (error: CacheError) => void
    const lost = new Promise<CacheError>((resolve) => (giveUp = resolve))
    const node = { key, cache: store, parent, waitsFor: new Set<{ to: Loading }>(), running: true }
    this.#running.add(giveUp)
    try {
      return await loading.run(node, () => load({ key, loader, plan, clock, fence: null, stale, lost }))
    } finally {
      node.running = false
      this.#running.delete(giveUp)
    }
  }

  /** Gives up those that are running. */
  giveUp(error: CacheError): void {
    for (const giveUp of this.#running) giveUp(error)
  }
}
