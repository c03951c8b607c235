import type { Clock } from './clock.ts'
import { closed } from './errors.ts'
import type { CallShared } from './get-or-load.ts'

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

/** Gives up whatever is under way in a cache. */
export async function endAll({ flights, open, lonely, watchdog, near }: CallShared): Promise<void> {
  flights.giveUp()
  lonely.giveUp()
  for (const call of open) call.giveUp(closed(call.key))
  await flights.landed()
  flights.close()
  watchdog.close()
  near?.close()
}
