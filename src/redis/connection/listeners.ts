import type { ClientEvent, RedisPort } from './port.ts'

interface Shared {
  readonly tellers: Set<() => void>
  readonly stop: () => void
}

const listeners = new WeakMap<RedisPort, Map<ClientEvent, Shared>>()

/**
 * Calls `tell` at each event of a client. The stores and locks on a client share one listener: Node.js warns of more
 * than ten.
 * @returns a function that stops it
 */
export function listen(client: RedisPort, event: ClientEvent, tell: () => void): () => void {
  const { tellers, stop } = sharedListener(client, event)
  tellers.add(tell)
  return () => {
    if (!tellers.delete(tell) || tellers.size > 0) return
    listeners.get(client)?.delete(event)
    stop()
  }
}

function sharedListener(client: RedisPort, event: ClientEvent): Shared {
  const ofClient = listeners.get(client) ?? new Map<ClientEvent, Shared>()
  listeners.set(client, ofClient)
  const present = ofClient.get(event)
  if (present !== undefined) return present
  const tellers = new Set<() => void>()
  const made = { tellers, stop: client.on(event, () => tellers.forEach((tell) => tell())) }
  ofClient.set(event, made)
  return made
}
