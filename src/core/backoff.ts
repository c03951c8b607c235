/**
 * How long a waiter sleeps before it asks again, in milliseconds.
 *
 * With push the message wakes it, and asking again only covers a lost message or a dead holder: every 350 ms ± 25 %,
 * so that neither costs more than half a second. Without push the asking is all there is: it starts at 25 ms and grows
 * by half each time, up to the same 350 ms.
 *
 * @param asked how often this waiter has asked already, from 1
 * @param pushed whether an outcome would be pushed to this process
 * @param random a number in [0, 1)
 */
export function reaskDelay(asked: number, pushed: boolean, random: number): number {
  const base = pushed ? 350 : Math.min(350, 25 * 1.5 ** (asked - 1))
  return base * (0.75 + random / 2)
}
