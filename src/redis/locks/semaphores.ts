import type { PermitAnswer, PermitReport } from '../../core/contract/permits.ts'
import type { Busy, Hold, LockBackend, TakeRequest, TakeResult } from '../../core/contract/lock-backend.ts'
import { type Diagnosis, ignoreRejection } from '../../core/errors.ts'
import { ConnectionTrouble } from '../connection/connection-trouble.ts'
import type { RedisPort } from '../connection/port.ts'
import { loadScript } from '../connection/run-script.ts'
import { Inbox } from '../push/inbox.ts'
import * as scripts from '../scripts.ts'
import { RedisPermits } from './permits.ts'

/** How often a waiter asks again, in milliseconds: it keeps its place only for some time, and a message may be lost. */
const askAgainEvery = 350

/** The options of semaphores on Redis beyond those of all locks. */
export interface RedisSemaphoresOptions {
  readonly prefix: string
  readonly permits: number
  readonly wakeUp: 'push' | 'poll'
}

/** Locks of which several are held at a time: each holder and each waiter is a user of a source, for permits.lua. */
export class RedisSemaphores implements LockBackend {
  readonly longest: number = Number.POSITIVE_INFINITY
  readonly #client: RedisPort
  readonly #options: RedisSemaphoresOptions
  readonly #inbox: Inbox | null
  readonly #trouble: ConnectionTrouble
  readonly #permits: RedisPermits
  /** The number of the next report. */
  #seq = 0

  constructor(client: RedisPort, options: RedisSemaphoresOptions) {
    this.#client = client
    this.#options = options
    const nothing = (): void => undefined
    const trouble = (this.#trouble = ConnectionTrouble.of(client))
    this.#inbox =
      options.wakeUp === 'push' ? new Inbox(client, { trouble, confirmLeases: nothing, pushed: nothing }) : null
    // A holder that is cut off from its messages is not taken for dead: it may still be at work.
    this.#permits = new RedisPermits(client, this.#inbox, { prefix: options.prefix, replacesDead: false })
  }

  open(): void {
    this.#trouble.open()
    this.#inbox?.open()
    loadScript(this.#client, scripts.permits)
  }

  async close(): Promise<void> {
    this.#trouble.close()
    this.#inbox?.close()
  }

  diagnose(rejection?: unknown): Diagnosis | null {
    return this.#trouble.diagnose(rejection)
  }

  async take({ name, token, ttl, waits }: TakeRequest): Promise<TakeResult> {
    let free = (): void => undefined
    const freed = new Promise<void>((resolve) => (free = resolve))
    const answer = await this.#report({ name, token, ttl }, { held: 0, wants: 1 }, free).catch((error: unknown) => {
      this.#permits.forget(token)
      // Unless the server itself refused, it may have granted a permit whose reply is lost.
      if (!this.#client.isReply(error)) ignoreRejection(this.#leave({ name, token, ttl }))
      throw error
    })
    if (answer.granted > 0) return { state: 'held', hold: { name, token, ttl, fence: null } }
    if (waits === 'no') await this.#leave({ name, token, ttl })
    return this.#busy({ name, token, ttl }, freed, answer)
  }

  renew(holds: readonly Hold[]): Promise<boolean>[] {
    return holds.map(async (hold) => (await this.#report(hold, { held: 1, wants: 0 })).holds)
  }

  release(hold: Hold): Promise<boolean> {
    return this.#trouble.sendOnce(async () => (await this.#leave(hold)).holds)
  }

  #busy(wanted: Pick<Hold, 'name' | 'token' | 'ttl'>, freed: Promise<void>, { pushed, again }: PermitAnswer): Busy {
    return {
      state: 'busy',
      freed,
      pushed,
      left: Math.min(again ?? askAgainEvery, askAgainEvery),
      leave: () => this.#permits.forget(wanted.token),
      giveUp: async () => void (await this.#leave(wanted)),
    }
  }

  /** It holds and wants nothing any more. */
  async #leave(hold: Pick<Hold, 'name' | 'token' | 'ttl'>): Promise<PermitAnswer> {
    try {
      return await this.#report(hold, { held: 0, wants: 0 })
    } finally {
      // Not before: a report of a process without messages listens a turn later.
      this.#permits.forget(hold.token)
    }
  }

  #report(
    { name, token, ttl }: Pick<Hold, 'name' | 'token' | 'ttl'>,
    now: Pick<PermitReport, 'held' | 'wants'>,
    told: () => void = () => undefined,
  ): Promise<PermitAnswer> {
    const usual = { urgency: 0, concurrency: this.#options.permits, rate: null, keep: 0, known: 0 } as const
    // A request may be sent again under its token, and is then no holder yet.
    const strict = now.wants === 0
    const report = { source: name, who: token, seq: ++this.#seq, ttl: Math.ceil(ttl), ...usual, ...now, strict }
    return this.#permits.report(report, told)
  }
}
