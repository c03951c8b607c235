import { systemClock, type Clock } from './clock.ts'

/** The most readings before time is asked for after all: a turn that never ends must not stop the clock. */
const most = 256

/**
 * Tells the time once in a turn of the event loop: asking the system costs half as much as a hit. Whatever a turn asks of
 * it is answered as of its beginning; nothing that has come from outside since then is known in that turn anyway.
 */
export function coarse(clock: Clock): () => number {
  // Another clock, of a test, may be set within a turn.
  if (clock !== systemClock) return () => clock.now()
  let now = 0
  let left = 0
  let armed = false
  const turnEnds = (): void => {
    left = 0
    armed = false
  }
  const ask = (): number => {
    left = most
    if (!armed) setImmediate(turnEnds).unref()
    armed = true
    return (now = clock.now())
  }
  return () => (left-- > 0 ? now : ask())
}
