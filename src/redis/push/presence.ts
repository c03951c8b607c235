import type { RedisPort } from '../connection/port.ts'
import { EachNode } from './each-node.ts'

/** Behind an inbox, the channel by which the nodes of a cluster see its process. Nothing is published there. */
export const presence = ':here'

/** The suffix that makes of an inbox the channel by which its process is seen: `''` for the inbox itself. */
export function presenceSuffix({ isCluster }: RedisPort): string {
  return isCluster ? presence : ''
}

/**
 * Lets each master of a cluster see that this process lives, by a subscription on a connection of its own: a node knows
 * only its own subscribers, so the one that has a lease could otherwise not tell a dead holder from a living one.
 */
export class Presence {
  readonly #nodes: EachNode

  /** @param confirm called when a node sees this process again, or no longer: it renews the leases of this process */
  constructor(client: RedisPort, confirm: () => void) {
    this.#nodes = new EachNode(client, confirm)
  }

  /** @param inbox the channel for messages of this process */
  open(inbox: string): void {
    this.#nodes.open((node, events) => node.subscriber?.(inbox + presence, { ...events, message: () => undefined }))
  }

  close(): void {
    this.#nodes.close()
  }
}
