import { systemClock, type Clock } from '../../core/time/clock.ts'
import { withDeadline } from '../../core/time/deadline.ts'
import {
  busyUntold,
  type Hold,
  type LockBackend,
  type TakeResult,
  type TakeRequest,
} from '../../core/contract/lock-backend.ts'
import { type Diagnosis, ignoreRejection } from '../../core/errors.ts'
import { tokens } from '../../core/lease/token.ts'

/** The vote of a node. */
type Vote = 'yes' | 'no' | 'nothing'

/**
 * A lock on several independent servers, held if a majority of them grants it (Redlock, redis.io/docs/latest/develop/
 * clients/patterns/distributed-locks). The decision falls as soon as a majority has voted, and the wait for a node is
 * bounded by a small part of the ttl.
 */
export class Majority implements LockBackend {
  readonly longest: number = Number.POSITIVE_INFINITY
  readonly #nodes: readonly LockBackend[]
  readonly #quorum: number
  readonly #clock: Clock
  readonly #token = tokens()
  readonly #held = new Set<string>()

  constructor(nodes: readonly LockBackend[], clock: Clock = systemClock) {
    this.#nodes = nodes
    this.#quorum = Math.floor(nodes.length / 2) + 1
    this.#clock = clock
  }

  open(): void {
    for (const node of this.#nodes) node.open()
  }

  async close(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.close()))
  }

  /** The trouble of the first server that has some: most of them fail for the same reason. */
  diagnose(): Diagnosis | null {
    return this.#nodes.map((node) => node.diagnose?.() ?? null).find((found) => found !== null) ?? null
  }

  async take({ name, ttl }: TakeRequest): Promise<TakeResult> {
    // A new token per try, so that a command of the last try on a slow server cannot undo this one.
    const token = this.#token()
    const request = { name, token, ttl: kept(ttl), waits: 'no' } as const
    const hold: Hold = { name, token, ttl, fence: null }
    let left = Number.POSITIVE_INFINITY
    const silent = new Set(this.#nodes)
    const takes = this.#nodes.map((node) => ({ node, take: node.take(request) }))
    const asked = takes.map(async ({ node, take }): Promise<Vote> => {
      const taken = await this.#inTime(ttl, () => take)
      silent.delete(node)
      if (taken.state === 'held') return 'yes'
      left = Math.min(left, taken.left)
      return 'no'
    })
    const decided = await this.#decision(asked, 'no')
    if (decided === 'yes') this.#held.add(token)
    // Silent servers receive the release behind the request, even if this process is gone by then.
    else for (const node of silent) ignoreRejection(node.release(hold))
    for (const { node, take } of takes) ignoreRejection(take.then((taken) => this.#giveBackUnheld(node, taken)))
    if (decided === 'yes') return { state: 'held', hold }
    if (decided === 'nothing') throw new Error(`No majority of ${this.#nodes.length} servers answered`)
    return busyUntold(left)
  }

  renew(holds: readonly Hold[]): Promise<boolean>[] {
    const each = this.#nodes.map((node) => node.renew(holds.map((hold) => ({ ...hold, ttl: kept(hold.ttl) }))))
    return holds.map((hold, index) =>
      this.#agreed(each.map((replies) => this.#inTime(hold.ttl, async () => (await replies[index]) === true))),
    )
  }

  release(hold: Hold): Promise<boolean> {
    this.#held.delete(hold.token)
    return this.#agreed(this.#nodes.map((node) => this.#inTime(hold.ttl, () => node.release(hold))))
  }

  /** Releases a late grant. A server that did not know the script gets it a second time, perhaps behind the release. */
  async #giveBackUnheld(node: LockBackend, taken: TakeResult): Promise<void> {
    if (taken.state === 'held' && !this.#held.has(taken.hold.token)) await node.release(taken.hold)
  }

  async #agreed(replies: readonly Promise<boolean>[]): Promise<boolean> {
    const decision = await this.#decision(
      replies.map(async (reply) => ((await reply) ? 'yes' : 'no')),
      'nothing',
    )
    if (decision === 'nothing') throw new Error(`No majority of ${this.#nodes.length} servers answered`)
    return decision === 'yes'
  }

  /**
   * The vote of the majority, as soon as it is certain.
   * @param split the result without a majority, if some node voted no
   */
  #decision(asked: readonly Promise<Vote>[], split: Vote): Promise<Vote> {
    const counts: Record<Vote, number> = { yes: 0, no: 0, nothing: 0 }
    const blocking = this.#nodes.length - this.#quorum + 1
    return new Promise((resolve) => {
      const count = (vote: Vote): void => {
        counts[vote]++
        if (counts.yes >= this.#quorum) resolve('yes')
        else if (counts.no >= blocking) resolve('no')
        else if (counts.nothing >= blocking) resolve('nothing')
        else if (counts.yes + counts.no + counts.nothing === this.#nodes.length)
          resolve(counts.no > 0 ? split : 'nothing')
      }
      for (const each of asked) each.then(count, () => count('nothing'))
    })
  }

  #inTime<T>(ttl: number, run: () => Promise<T>): Promise<T> {
    const most = Math.min(50, Math.max(5, ttl / 20))
    return withDeadline(run, { most, clock: this.#clock })
  }
}

/** The ttl on the servers, slightly longer than the holder's: their clocks run at different speeds. */
function kept(ttl: number): number {
  return Math.ceil(ttl * 1.01) + 2
}
