import { timers } from '../../core/time/clock.ts'
import { listen } from '../connection/listeners.ts'
import type { RedisNode, RedisPort, RedisSubscriber } from '../connection/port.ts'
import { heartbeat, keepSubscribed } from './heartbeat.ts'

/** Behind an inbox, the channel by which the nodes of a cluster see its process. Nothing is published there. */
const suffix = ':here'

/** What the scripts put behind an inbox to find the channel by which its process is seen: `''` for the inbox itself. */
export function presenceSuffix({ isCluster }: RedisPort): string {
  return isCluster ? suffix : ''
}

interface Seen {
  readonly subscriber: RedisSubscriber
  readonly stop: () => void
}

/**
 * Lets each master of a cluster see that this process lives, by a subscription on a connection of its own: a node knows
 * only its own subscribers, so the one that has a lease can otherwise not tell a dead holder from a living one.
 */
export class Presence {
  readonly #client: RedisPort
  readonly #confirm: () => void
  /** By the name of the node. */
  readonly #seen = new Map<string, Seen>()
  #channel = ''
  #looking: NodeJS.Timeout | undefined
  #leaveClient = (): void => undefined

  /** @param confirm called when a node sees this process again, or no longer: it renews what this process holds */
  constructor(client: RedisPort, confirm: () => void) {
    this.#client = client
    this.#confirm = confirm
  }

  /** @param inbox the channel for messages of this process */
  open(inbox: string): void {
    this.#channel = inbox + suffix
    const leaveReady = listen(this.#client, 'ready', this.#look)
    const leaveEnd = listen(this.#client, 'end', this.#leaveAll)
    this.#leaveClient = () => {
      leaveReady()
      leaveEnd()
    }
    // This sends nothing: it finds the masters that are new, and those that are none any more.
    this.#looking = timers.setInterval(this.#look, heartbeat)
    this.#looking.unref()
    this.#look()
  }

  close(): void {
    timers.clearInterval(this.#looking)
    this.#leaveClient()
    this.#leaveAll()
  }

  readonly #look = (): void => {
    const nodes = this.#client.nodes()
    for (const node of nodes) if (!this.#seen.has(node.name)) this.#show(node)
    const names = new Set(nodes.map(({ name }) => name))
    // A client may forget a node for a moment. A connection that is open is kept: its end would make this process look dead.
    for (const [name, { subscriber }] of this.#seen) if (!names.has(name) && !subscriber.isOpen) this.#leave(name)
  }

  #show(node: RedisNode): void {
    if (node.subscriber === undefined) return
    let isSeen = false
    const changed = (now: boolean): void => {
      if (isSeen === now || this.#seen.get(node.name)?.subscriber !== subscriber) return
      isSeen = now
      this.#confirm()
    }
    const lost = (): void => changed(false)
    const subscribe = async (): Promise<void> => {
      try {
        await subscriber.subscribe()
      } catch {
        // Refused: what this process holds must run out, as without a subscription.
        return
      }
      changed(true)
    }
    const subscriber = node.subscriber(this.#channel, {
      opened: () => void subscribe(),
      lost,
      // The client itself reports that it cannot reach a node.
      failed: ignore,
      message: ignore,
    })
    this.#seen.set(node.name, { subscriber, stop: keepSubscribed(subscriber, subscribe, lost) })
  }

  #leave(name: string): void {
    const seen = this.#seen.get(name)
    this.#seen.delete(name)
    seen?.stop()
    seen?.subscriber.close()
  }

  readonly #leaveAll = (): void => {
    for (const name of this.#seen.keys()) this.#leave(name)
  }
}

function ignore(): void {}
