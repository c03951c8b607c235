import { onAbort } from '../time/abort.ts'
import type { Deadlines } from '../time/deadlines.ts'
import type { Caller } from './caller.ts'

/** What ends the wait of a caller. */
interface Bounds {
  readonly deadlines: Deadlines
  /** Answers a caller whose time is over. */
  readonly late: () => unknown
  /** The caller leaves, because its signal aborts. */
  readonly left: () => void
}

/**
 * The answer of a caller, whose wait its signal and its deadline may end before: a flight knows the deadlines of its
 * callers, but a read may take longer than a caller has.
 * @throws the reason of the signal
 */
export function bounded(caller: Caller, answer: Promise<unknown>, { deadlines, late, left }: Bounds): Promise<unknown> {
  const { signal, deadline: at } = caller
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      if (caller.state === 'over') return
      caller.leave()
      left()
      end()
      reject(signal?.reason)
    }
    const due = {
      expire: (): void => {
        if (caller.state === 'over') return
        caller.leave()
        resolve(settled(late))
      },
    }
    const end = (): void => {
      unheard?.()
      deadlines.delete(at, due)
    }
    const unheard = signal && onAbort(signal, abort)
    deadlines.add(at, due)
    answer.finally(end).then(resolve, reject)
  })
}

/** The result of a step, as a promise. */
export function settled(step: () => unknown): Promise<unknown> {
  return new Promise((resolve) => resolve(step()))
}
