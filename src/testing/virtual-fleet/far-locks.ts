import type { Hold, LockBackend, TakeResult, TakeRequest } from '../../core/contract/lock-backend.ts'
import type { Server } from './virtual-server.ts'
import type { Way } from './way.ts'

/** The locks of the server, as one process reaches them. */
export class FarLocks implements LockBackend {
  readonly longest: number = Number.POSITIVE_INFINITY
  readonly #way: Way
  readonly #server: Server

  constructor(way: Way, server: Server) {
    this.#way = way
    this.#server = server
  }

  async take(request: TakeRequest): Promise<TakeResult> {
    const taken = await this.#way.carry(`take ${request.name}`, () => this.#server.locks.take(request))
    if (taken.state === 'held') return taken
    const giveUp = (): Promise<void> => this.#way.carry(`give up ${request.name}`, () => taken.giveUp())
    return { ...taken, freed: this.#way.message(taken.freed), giveUp }
  }

  renew(holds: readonly Hold[]): Promise<boolean>[] {
    const names = holds.map(({ name }) => name).join(' ')
    const answers = this.#way.carry(`renew ${names}`, () => Promise.all(this.#server.locks.renew(holds)))
    return holds.map((_, index) => answers.then((ours) => ours[index] === true))
  }

  release(hold: Hold): Promise<boolean> {
    return this.#way.carry(`release ${hold.name}`, () => this.#server.locks.release(hold))
  }

  open(): void {}

  async close(): Promise<void> {}
}
