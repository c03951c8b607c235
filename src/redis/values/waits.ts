import type { Claim } from '../../core/contract/store.ts'
import { isYes, type RedisPort } from '../connection/port.ts'
import { runScript } from '../connection/run-script.ts'
import type { ServerClock } from '../connection/server-clock.ts'
import type { Inbox } from '../push/inbox.ts'
import { presenceSuffix } from '../push/presence.ts'
import { stillLoads } from '../scripts.ts'
import { leaseKey } from './keys.ts'
import { type Heard, outcomeIn } from './outcome.ts'
import type { Values } from './values.ts'

/** The waits of this process for loads of others. */
export class Waits {
  readonly #client: RedisPort
  readonly #inbox: Inbox | null
  readonly #clock: ServerClock
  readonly #values: Values

  constructor(
    client: RedisPort,
    inbox: Inbox | null,
    { clock, values }: { readonly clock: ServerClock; readonly values: Values },
  ) {
    this.#client = client
    this.#inbox = inbox
    this.#clock = clock
    this.#values = values
  }

  /**
   * The wait that a claim was answered with.
   * @param inbox under which this process is enlisted; `''` if it is not
   */
  async of(key: string, inbox: string, reply: readonly unknown[]): Promise<Claim> {
    const [, , holderToken, leaseLeft, stale, holderContext] = reply
    const token = String(holderToken)
    const { outcome, leave } = this.#listen(token)
    const entry = await this.#values.replied(key, stale).catch((error: unknown) => {
      leave()
      throw error
    })
    return {
      state: 'wait',
      token,
      leave,
      outcome: outcome.then((heard) => this.#values.waited(key, heard)),
      context: Buffer.isBuffer(holderContext) && holderContext.length > 0 ? holderContext.toString() : undefined,
      pushed: inbox !== '',
      ...(inbox !== '' && { stillLoads: () => this.#isUnderWay(key, token, inbox) }),
      leaseLeft: Math.max(0, Number(leaseLeft)),
      stale: entry,
    }
  }

  /** Listens for the outcome of a load from now on. */
  #listen(token: string): { readonly outcome: Promise<Heard>; readonly leave: () => void } {
    let leave = (): void => undefined
    const outcome = new Promise<Heard>((resolve) => {
      leave = this.#inbox?.listen(token, (message) => resolve(outcomeIn(message, this.#clock.now()))) ?? leave
    })
    return { outcome, leave: () => leave() }
  }

  /** Whether a load is still under way, its holder alive as far as Redis can tell, and this process enlisted for it. */
  async #isUnderWay(key: string, token: string, inbox: string): Promise<boolean> {
    return isYes(
      await runScript(this.#client, stillLoads, [leaseKey(key)], [token, inbox, presenceSuffix(this.#client)]),
    )
  }
}
