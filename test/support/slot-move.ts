import { setTimeout as pause } from 'node:timers/promises'
import type { RedisServer } from './redis-server.ts'

/** How fast slots move. */
export interface MovePace {
  /** How many keys are moved in one step; 1 by default. */
  readonly keysAtOnce?: number
  /** The time between two steps, and between the opening of a slot and its first step, in milliseconds; 20 by default. */
  readonly stepEvery?: number
}

/**
 * One slot on its way from one master to another, in the steps in which redis-cli does it. From `begin` to `finish` the
 * old master answers ASK for a key that it does not have, and TRYAGAIN for several of which it has some; the new one
 * answers TRYAGAIN for several that it does not have all. After `finish` the old one answers MOVED.
 */
export class SlotMove {
  readonly slot: number
  readonly from: RedisServer
  readonly to: RedisServer
  readonly #target: string
  readonly #nodes: readonly RedisServer[]

  private constructor(slot: number, from: RedisServer, to: RedisServer, target: string, nodes: readonly RedisServer[]) {
    this.slot = slot
    this.from = from
    this.to = to
    this.#target = target
    this.#nodes = nodes
  }

  static async begin(
    slot: number,
    from: RedisServer,
    to: RedisServer,
    nodes: readonly RedisServer[],
  ): Promise<SlotMove> {
    const [source, target] = await Promise.all([from.client.cluster('MYID'), to.client.cluster('MYID')])
    // In this order: what the old master sends away, the new one must be ready to take.
    await to.client.cluster('SETSLOT', slot, 'IMPORTING', source)
    await from.client.cluster('SETSLOT', slot, 'MIGRATING', target)
    return new SlotMove(slot, from, to, target, nodes)
  }

  /** Moves some keys; resolves with how many, 0 when none is left. */
  async step(count = 1): Promise<number> {
    const keys = (await this.from.client.callBuffer('CLUSTER', 'GETKEYSINSLOT', this.slot, count)) as Buffer[]
    if (keys.length > 0) await this.from.client.migrate('127.0.0.1', this.to.port, '', 0, 5_000, 'KEYS', ...keys)
    return keys.length
  }

  /** Gives the slot to its new master, which is possible when no key is left. */
  async finish(): Promise<void> {
    // In this order: a slot that its old master has given away must not be without one.
    const others = this.#nodes.filter((node) => node !== this.from && node !== this.to)
    for (const { client } of [this.to, this.from, ...others])
      await client.cluster('SETSLOT', this.slot, 'NODE', this.#target)
  }

  /** All steps up to the end. */
  async run({ keysAtOnce = 1, stepEvery = 20 }: MovePace = {}): Promise<void> {
    do await pause(stepEvery)
    while ((await this.step(keysAtOnce)) > 0)
    await this.finish()
  }
}
