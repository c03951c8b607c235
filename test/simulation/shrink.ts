import type { Network, Schedule } from './schedule.ts'

/** The most schedules that are tried: what is left is small enough to read, not the smallest there is. */
const mostTries = 400

/** A schedule with less in it for which `goesWrong` still holds, as it does for the one that is given. */
export async function shrunk(
  schedule: Schedule,
  goesWrong: (schedule: Schedule) => Promise<boolean>,
): Promise<Schedule> {
  let best = schedule
  let tries = 0
  const attempt = async (smaller: Schedule): Promise<boolean> => {
    if (tries >= mostTries) return false
    tries++
    const wrong = await goesWrong(smaller)
    if (wrong) best = smaller
    return wrong
  }
  for (let again = true; again && tries < mostTries;) {
    again = false
    for (const list of ['operations', 'faults'] as const) {
      for (let size = Math.max(1, best[list].length >> 1); size >= 1; size >>= 1) {
        for (let from = best[list].length - size; from >= 0; from -= size) {
          const some: readonly unknown[] = best[list]
          const fewer = some.filter((_, index) => index < from || index >= from + size)
          if (await attempt({ ...best, [list]: fewer })) again = true
        }
      }
    }
    for (const smaller of simpler(best)) if (await attempt(smaller)) again = true
  }
  return best
}

/** The same with one thing as it is in a better world, one after the other. */
function simpler(schedule: Schedule): Schedule[] {
  const { network, operations } = schedule
  const better: Network = { ...network, bulky: 0, lostMessages: 0, lost: 0, cut: 0, resent: 0, ordered: true }
  const changes = Object.entries(better).filter(([name, value]) => network[name as keyof Network] !== value)
  return [
    ...changes.map(([name, value]) => ({ ...schedule, network: { ...network, [name]: value } })),
    ...operations.flatMap((operation, index) =>
      operation.what === 'ask' && operation.callers > 1
        ? [{ ...schedule, operations: operations.with(index, { ...operation, callers: 1 }) }]
        : [],
    ),
  ]
}
