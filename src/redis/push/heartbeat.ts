import { systemClock, timers } from '../../core/time/clock.ts'
import type { RedisSubscriber } from '../connection/port.ts'

/**
 * How often a subscription is checked, in milliseconds: a half-open connection delivers nothing, and the system takes a
 * quarter of an hour to notice.
 */
export const heartbeat = 1_000

/**
 * Subscribes again from time to time, which is idempotent, and reconnects if the server does not answer that.
 * @param subscribe resolves with whether the server has answered, be it with an error
 * @param lost called before it reconnects
 * @returns a function that ends it
 */
export function keepSubscribed(
  subscriber: RedisSubscriber,
  subscribe: () => Promise<boolean>,
  lost: () => void,
): () => void {
  let answered = true
  let last = systemClock.now()
  const beat = timers.setInterval(() => {
    const now = systemClock.now()
    // This process itself was paused or busy: the reply may have arrived unread.
    const late = now - last > 1.5 * heartbeat
    last = now
    if (!subscriber.isOpen || late) return
    if (answered) {
      answered = false
      void subscribe().then((heard) => {
        // A connection that has broken meanwhile is replaced anyway, and one that was given up says nothing of the next.
        if (heard || !subscriber.isOpen) answered = true
      })
    } else {
      answered = true
      lost()
      subscriber.reconnect()
    }
  }, heartbeat)
  beat.unref()
  return () => timers.clearInterval(beat)
}
