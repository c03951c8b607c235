import type { Clock, Timer } from './clock.ts'
import { CacheError, unavailable } from './errors.ts'

/** When a timer runs so much later than it should, in milliseconds, this process itself was busy. */
const busy = 20

/**
 * Calls `expire` when so many milliseconds have passed; where this process was busy then, a turn later: answers that
 * came meanwhile are read after timers have run, so they get their turn.
 */
export function deadline(clock: Clock, ms: number, expire: () => void, kind?: 'background'): Timer {
  const after = (delay: number): Timer => {
    const due = clock.now() + delay
    const ring = (): void => {
      if (clock.now() - due > busy) timer = after(1)
      else expire()
    }
    return clock.after(delay, ring, kind)
  }
  let timer = after(ms)
  return { cancel: () => timer.cancel() }
}

/**
 * What a command comes to, if it is answered in time; else, and when it fails, rejects with STORE_UNAVAILABLE.
 * @param options.most how long it may take, in milliseconds
 * @param options.late is given an answer that comes after that
 */
export function inTime<T>(
  run: () => Promise<T>,
  { most, clock, late }: { most: number; clock: Clock; late?: ((value: T) => void) | undefined },
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    let over = false
    const timer = deadline(clock, most, () => {
      over = true
      reject(new CacheError('STORE_UNAVAILABLE', `There was no answer within ${most} ms`))
    })
    run().then(
      (value) => {
        timer.cancel()
        if (over) late?.(value)
        else resolve(value)
      },
      (error: unknown) => {
        timer.cancel()
        reject(unavailable(error))
      },
    )
  })
}

/** Resolves when `over` does, or when so many milliseconds have passed. */
export async function atMost(ms: number, over: Promise<void>, clock: Clock): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = clock.after(ms, resolve)
    void over.then(() => {
      timer.cancel()
      resolve()
    })
  })
}
