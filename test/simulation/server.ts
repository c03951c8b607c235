import type { Clock } from '../../src/core/clock.ts'
import type { Store } from '../../src/core/store.ts'
import { memoryStore } from '../../src/memory/memory-store.ts'

/** The one store of a fleet: it can lose what it has, and its clock can be set. */
export class Server {
  store: Store
  /** How many reasons it has to refuse every command. */
  refusals = 0
  /** Tokens whose loads nobody is told about. */
  readonly muted = new Set<string>()
  readonly #world: Clock
  readonly #most: number
  #ahead = 0

  constructor(world: Clock, most: number) {
    this.#world = world
    this.#most = most
    this.store = this.#empty()
  }

  /** Loses everything. Those who wait are never told. */
  wipe(): void {
    this.store = this.#empty()
  }

  setClock(by: number): void {
    this.#ahead += by
  }

  /** Loses the lease of a key, and tells nobody. */
  async evictLease(key: string): Promise<void> {
    const claim = await this.store.claim({ key, token: 'evictor', leaseTtl: 1 })
    if (claim.state === 'lease') await this.store.release(claim.lease)
    if (claim.state !== 'wait') return
    claim.leave()
    this.muted.add(claim.token)
    await this.store.release({ key, token: claim.token, ttl: 0, fence: 0n, lost: new Promise(() => undefined) })
  }

  #empty(): Store {
    const clock: Clock = {
      now: () => this.#world.now() + this.#ahead,
      after: (ms, run, background) => this.#world.after(ms, run, background),
    }
    return memoryStore({ clock, max: this.#most })
  }
}
