import { timers } from '../../core/time/clock.ts'
import { listen } from '../connection/listeners.ts'
import type { RedisNode, RedisPort, RedisSubscriber, SubscriberEvents } from '../connection/port.ts'
import { heartbeat, keepSubscribed } from './heartbeat.ts'

/** Makes a subscriber at a node; `undefined` where the adapter cannot. */
export type Subscribing = (node: RedisNode, events: Omit<SubscriberEvents, 'message'>) => RedisSubscriber | undefined

interface Subscribed {
  readonly subscriber: RedisSubscriber
  readonly stop: () => void
  isUp: boolean
  /** How often in a row the client did not know its node. */
  unknown: number
}

/**
 * How often in a row a node must be unknown to the client before a subscription there is given up. A client may forget
 * a node for a moment, and without a subscription the node takes this process for dead.
 */
const givenUpAfter = 30

/** A subscription at each node: at the one server, or at every master of a cluster. */
export class EachNode {
  readonly #client: RedisPort
  readonly #changed: () => void
  /** By the name of the node. */
  readonly #subscribed = new Map<string, Subscribed>()
  #subscribing: Subscribing = () => undefined
  #looking: NodeJS.Timeout | undefined
  #leaveClient = (): void => undefined

  /** @param changed called when a subscription is lost or there again */
  constructor(client: RedisPort, changed: () => void) {
    this.#client = client
    this.#changed = changed
  }

  /** Whether all nodes that the client knows have the subscription. */
  get isWhole(): boolean {
    const nodes = this.#client.nodes()
    return nodes.length > 0 && nodes.every(({ name }) => this.#subscribed.get(name)?.isUp === true)
  }

  open(subscribing: Subscribing): void {
    this.#subscribing = subscribing
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
    // Until then a cluster client knows only the nodes that it was given, under names of their own.
    if (this.#client.connected !== undefined) return
    const nodes = this.#client.nodes()
    const added = nodes.filter(({ name }) => !this.#subscribed.has(name)).map((node) => this.#subscribe(node))
    const names = new Set(nodes.map(({ name }) => name))
    const before = this.#subscribed.size
    for (const [name, subscribed] of this.#subscribed) {
      subscribed.unknown = names.has(name) ? 0 : subscribed.unknown + 1
      if (subscribed.unknown > (subscribed.isUp ? givenUpAfter : 0)) this.#leave(name)
    }
    if (added.includes(true) || this.#subscribed.size < before) this.#changed()
  }

  /** Returns whether there is a subscription at a node from now on, perhaps lost. */
  #subscribe(node: RedisNode): boolean {
    const its: { subscribed?: Subscribed } = {}
    const change = (isUp: boolean): void => {
      const { subscribed } = its
      if (subscribed === undefined || subscribed.isUp === isUp || this.#subscribed.get(node.name) !== subscribed) return
      subscribed.isUp = isUp
      this.#changed()
    }
    const lost = (): void => change(false)
    const subscribe = async (): Promise<boolean> => {
      try {
        await subscriber?.subscribe()
      } catch (error) {
        // Refused, or lost, which is reported.
        return this.#client.isReply(error)
      }
      change(true)
      return true
    }
    // The client itself reports that it cannot reach a node.
    const subscriber = this.#subscribing(node, { opened: () => void subscribe(), lost, failed: () => undefined })
    if (subscriber === undefined) return false
    its.subscribed = { subscriber, stop: keepSubscribed(subscriber, subscribe, lost), isUp: false, unknown: 0 }
    this.#subscribed.set(node.name, its.subscribed)
    return true
  }

  #leave(name: string): void {
    const subscribed = this.#subscribed.get(name)
    this.#subscribed.delete(name)
    subscribed?.stop()
    subscribed?.subscriber.close()
  }

  readonly #leaveAll = (): void => {
    if (this.#subscribed.size === 0) return
    for (const name of this.#subscribed.keys()) this.#leave(name)
    this.#changed()
  }
}
