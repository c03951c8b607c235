import { errorMonitor } from 'node:events'
import { timers } from '../../core/time/clock.ts'

/** The members of a connection of node-redis by which its writes can be held back; since 5.9. */
export interface PausableWrites {
  /** Internal to node-redis, like `_unpause`. */
  _pause(): void
  _unpause(): void
  on(event: 'connect' | typeof errorMonitor, listener: () => void): unknown
}

const held = new WeakSet<PausableWrites>()

/**
 * Holds back the writes of a connection from the moment in which it breaks until its queue has been flushed.
 *
 * Without this, node-redis 5 gives a command the reply to another one (redis/node-redis#1593): it flushes its queue in
 * the next `setImmediate`, also to a socket that has broken meanwhile. It then waits on the next socket for the replies
 * to these commands, and every later command gets the reply to one before it. Version 6 checks the socket itself.
 */
export function holdWritesOnLoss(connection: PausableWrites): void {
  if (held.has(connection)) return
  held.add(connection)
  let isHeld = false
  const release = (): void => {
    if (isHeld) connection._unpause()
    isHeld = false
  }
  connection.on(errorMonitor, () => {
    isHeld = true
    connection._pause()
    // Behind the flush of node-redis, which was scheduled before.
    timers.setImmediate(release)
  })
  // It may come first, and what is held back then is the handshake.
  connection.on('connect', release)
}
