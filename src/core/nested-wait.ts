import { circleThrough, type Loading } from './circle.ts'
import type { Clock, Timer } from './clock.ts'
import type { Flight } from './flight.ts'
import type { Settlement } from './settlement.ts'

/** Another process's load was waited for as long as may be. */
export interface TooLong {
  readonly state: 'too long'
}

/**
 * How a loader waits for a flight. For another process's load it does so for a bounded time, because that load may be
 * waiting for ours: then it loads for itself.
 * @param bound in milliseconds
 * @returns `over` ends the wait
 * @throws CIRCULAR_LOAD if the flight waits for the loader
 */
export function nestedWait(
  parent: Loading,
  flight: Flight,
  bound: number,
  clock: Clock,
): { settled: Promise<Settlement | TooLong>; over: () => void } {
  const circle = circleThrough(parent, flight)
  if (circle !== null) throw circle
  const edge = { to: flight }
  let timer!: Timer
  parent.waitsFor.add(edge)
  const tooLong = new Promise<TooLong>((resolve) => {
    const check = (): void => {
      if (flight.state === 'waiting') resolve({ state: 'too long' })
      else timer = clock.after(bound, check)
    }
    timer = clock.after(bound, check)
  })
  const over = (): void => {
    timer.cancel()
    parent.waitsFor.delete(edge)
  }
  return { settled: Promise.race([flight.settled, tooLong]).finally(over), over }
}
