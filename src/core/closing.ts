import { closed } from './errors.ts'
import type { CallShared } from './get-or-load.ts'

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
