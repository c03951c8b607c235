import { micros, systemClock, type Clock } from '../core/clock.ts'
import { busyUntold } from '../core/lock-provider.ts'
import type { Busy, Hold, LockProvider, Taken, TakeRequest } from '../core/lock-provider.ts'

interface Held {
  readonly hold: Hold
  until: number
}

interface Waiter {
  readonly token: string
  readonly tell: () => void
}

/** Locks in the memory of this process: they exclude whoever runs in it, and nobody else. */
export class MemoryLocks implements LockProvider {
  readonly longest: number = Number.POSITIVE_INFINITY
  readonly #clock: Clock
  readonly #held = new Map<string, Held>()
  readonly #queues = new Map<string, Map<string, Waiter>>()
  #fence = 0n

  constructor(clock: Clock = systemClock) {
    this.#clock = clock
  }

  async take({ name, token, ttl, waits }: TakeRequest): Promise<Taken> {
    const now = this.#clock.now()
    const held = this.#heldNow(name, now)
    if (held?.hold.token === token) return { state: 'held', hold: held.hold }
    const queue = this.#queues.get(name)
    const [first] = queue?.values() ?? []
    if (held === undefined && (waits !== 'fair' || first === undefined || first.token === token)) {
      this.#dequeue(name, token)
      return { state: 'held', hold: this.#grant(name, token, ttl, now) }
    }
    const left = held === undefined ? 0 : held.until - now
    return waits === 'no' ? busyUntold(left) : this.#busy(name, token, left)
  }

  renew(holds: readonly Hold[]): Promise<boolean>[] {
    return holds.map(async ({ name, token, ttl }) => {
      const held = this.#heldNow(name, this.#clock.now())
      if (held?.hold.token !== token) return false
      held.until = this.#clock.now() + ttl
      return true
    })
  }

  async release({ name, token }: Hold): Promise<boolean> {
    const held = this.#heldNow(name, this.#clock.now())
    if (held?.hold.token !== token) return false
    this.#held.delete(name)
    this.#wakeNext(name)
    return true
  }

  open(): void {}

  async close(): Promise<void> {}

  #grant(name: string, token: string, ttl: number, now: number): Hold {
    const least = BigInt(micros(this.#clock))
    this.#fence = least > this.#fence ? least : this.#fence + 1n
    const hold: Hold = { name, token, ttl, fence: this.#fence }
    this.#held.set(name, { hold, until: now + ttl })
    return hold
  }

  #busy(name: string, token: string, left: number): Busy {
    const leave = (): void => undefined
    const queue = this.#queues.get(name) ?? new Map<string, Waiter>()
    this.#queues.set(name, queue)
    let tell!: () => void
    const freed = new Promise<void>((resolve) => (tell = resolve))
    // Whoever asks again keeps its place.
    queue.set(token, { token, tell })
    return { state: 'busy', freed, pushed: true, left, leave, giveUp: async () => this.#dequeue(name, token) }
  }

  #dequeue(name: string, token: string): void {
    const queue = this.#queues.get(name)
    if (queue === undefined || !queue.delete(token)) return
    if (queue.size === 0) this.#queues.delete(name)
    // It may have been the one that was told.
    else if (this.#heldNow(name, this.#clock.now()) === undefined) this.#wakeNext(name)
  }

  #wakeNext(name: string): void {
    const [next] = this.#queues.get(name)?.values() ?? []
    next?.tell()
  }

  #heldNow(name: string, now: number): Held | undefined {
    const held = this.#held.get(name)
    if (held === undefined || held.until > now) return held
    this.#held.delete(name)
    return undefined
  }
}
