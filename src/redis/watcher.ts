import { systemClock } from '../core/clock.ts'
import type { Copies, Watch } from '../core/store.ts'

/** How many signs a process may wait for at a time. */
const mostAwaited = 10

/** The promise that copies of one namespace are told what goes, renewed as long as copies are kept. */
export class Watcher implements Watch {
  readonly namespace: string
  readonly copies: Copies
  until = 0
  readonly #window: number
  readonly #say: (confirmed: (all: boolean) => void) => (() => void) | null
  readonly #onClose: () => void
  #keptUntil = 0
  #timer: NodeJS.Timeout | undefined
  #awaited: (() => void)[] = []
  /** Whether something may have gone of which the copies were not told. */
  #missed = false
  #closed = false

  /**
   * @param options.window how long a sign is good for, in milliseconds
   * @param options.say has this process told of what goes, and calls back with a sign: whether it was told all since the last
   *   one; returns what ends the wait for it, `null` if there will be none
   */
  constructor(
    namespace: string,
    copies: Copies,
    options: { window: number; say: (confirmed: (all: boolean) => void) => (() => void) | null; onClose: () => void },
  ) {
    this.namespace = namespace
    this.copies = copies
    this.#window = options.window
    this.#say = options.say
    this.#onClose = options.onClose
  }

  keep(ms: number): void {
    this.#keptUntil = systemClock.now() + ms
    if (this.#timer !== undefined || this.#closed) return
    this.#timer = setInterval(this.#renew, this.#window / 3)
    this.#timer.unref()
    this.#renew()
  }

  /** What was told may not have arrived. */
  interrupted(): void {
    this.until = 0
    this.#missed = true
    this.#forgetAwaited()
  }

  close(): void {
    this.#closed = true
    this.#stop()
    this.#forgetAwaited()
    this.#onClose()
  }

  readonly #renew = (): void => {
    const saidAt = systemClock.now()
    if (saidAt > this.#keptUntil) return this.#stop()
    const forget = this.#say((all) => {
      // Those that were waited for longer will not come any more: signs come in their order.
      if (forget !== null) this.#forgetAwaited(this.#awaited.indexOf(forget) + 1)
      if (this.#missed || !all) this.copies.dropAll()
      this.#missed = false
      this.until = saidAt + this.#window
    })
    if (forget === null) return
    if (this.#awaited.length === mostAwaited) {
      this.#awaited.shift()?.()
      // It may be the one that would have said so.
      this.#missed = true
    }
    this.#awaited.push(forget)
  }

  #stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #forgetAwaited(most = mostAwaited): void {
    for (const forget of this.#awaited.splice(0, most)) forget()
  }
}
