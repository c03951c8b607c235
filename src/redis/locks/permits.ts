import type { PermitAnswer, PermitReport, Permits } from '../../core/contract/permits.ts'
import type { RedisPort } from '../connection/port.ts'
import { runScript } from '../connection/run-script.ts'
import type { Inbox } from '../push/inbox.ts'
import { presenceSuffix } from '../push/presence.ts'
import * as scripts from '../scripts.ts'

/** How long the inbox of a process must have no subscriber before its permits are granted to others, in milliseconds. */
const goneAfter = 50

/** The prefix of the keys of sources, which all namespaces share. */
export const sourcePrefix = 'herdless:source:'

/** The permits of sources on Redis; permits.lua decides. */
export class RedisPermits implements Permits {
  readonly #client: RedisPort
  readonly #inbox: Inbox | null
  readonly #prefix: string
  readonly #takeover: number | ''
  /** By user: the function to call at a message, and the one that ends the wait for it. */
  readonly #told = new Map<string, { readonly told: () => void; readonly leave: () => void }>()

  /**
   * @param how.prefix of the keys
   * @param how.replacesDead whether the permits of a process are granted to others once its inbox has no subscriber
   */
  constructor(
    client: RedisPort,
    inbox: Inbox | null,
    { prefix, replacesDead }: { readonly prefix: string; readonly replacesDead: boolean },
  ) {
    this.#client = client
    this.#inbox = inbox
    this.#prefix = prefix
    this.#takeover = replacesDead && inbox !== null ? goneAfter : ''
  }

  report(report: PermitReport, told: () => void): Promise<PermitAnswer> {
    const inbox = this.#inbox
    return inbox === null ? this.#report(report) : inbox.asking(() => this.#listening(report, told, inbox))
  }

  forget(who: string): void {
    this.#told.get(who)?.leave()
    this.#told.delete(who)
  }

  /** This process may count as dead, or as alive again: each user must report. */
  confirmAll(): void {
    for (const { told } of this.#told.values()) told()
  }

  #listening(report: PermitReport, told: () => void, inbox: Inbox): Promise<PermitAnswer> {
    const { who } = report
    this.forget(who)
    this.#told.set(who, { told, leave: inbox.listen(who, told) })
    return this.#report(report)
  }

  async #report(report: PermitReport): Promise<PermitAnswer> {
    const { source, who, seq, held, wants, urgency, concurrency, rate, ttl, keep, known, strict, oldest = 0 } = report
    const reply = (await runScript(
      this.#client,
      scripts.permits,
      [this.#prefix + source],
      [
        who,
        this.#inbox?.name ?? '',
        seq,
        held,
        wants,
        urgency,
        concurrency ?? 0,
        rate?.loads ?? 0,
        rate?.per ?? 0,
        ttl,
        keep,
        known,
        strict === true ? 'strict' : '',
        this.#takeover,
        Math.ceil(oldest),
        presenceSuffix(this.#client),
      ],
    )) as unknown[]
    const [granted = 0, holds, users = 1, waiters = 0, permits = 0, again = -1, pushed, most = 0] = reply.map(Number)
    return {
      granted,
      holds: holds === 1,
      users,
      waiting: { users: waiters, permits },
      again: again < 0 ? null : again,
      pushed: pushed === 1,
      concurrency: most === 0 ? null : most,
    }
  }
}

/** What is held and wanted of a source in the whole fleet. */
export interface SourceState {
  readonly source: string
  /** The most permits that all may hold together; `null` for any number. */
  readonly concurrency: number | null
  readonly held: number
  /** How long the oldest of them has been held, in milliseconds; `null` if none is. */
  readonly oldest: number | null
  /** How many processes use it. */
  readonly users: number
  /** How many of them wait, and for how many permits. */
  readonly waiting: { readonly users: number; readonly permits: number }
  /** The smallest rate, and how many loads have begun within its `per`; `null` for any number. */
  readonly rate: { readonly loads: number; readonly per: number; readonly begun: number } | null
}

/**
 * Looks at a source; `null` if it has no users.
 * @param name without the prefix of its key
 */
export async function lookAtSource(client: RedisPort, name: string): Promise<SourceState | null> {
  const reply = (await runScript(client, scripts.lookAtSource, [sourcePrefix + name], [])) as unknown[][]
  if (reply.length === 0) return null
  const users = reply.map((row) => {
    const [held = 0, wants = 0, most = 0, age = 0, loads = 0, per = 0, begun = 0] = row.map(Number)
    return { held, wants, most, age, loads, per, begun }
  })
  const limits = users.flatMap(({ most }) => (most > 0 ? [most] : []))
  const holding = users.filter(({ held }) => held > 0)
  const waiting = users.filter(({ wants }) => wants > 0)
  const [rate = null] = users
    .filter(({ loads }) => loads > 0)
    .toSorted((one, other) => one.loads / one.per - other.loads / other.per)
    .map(({ loads, per, begun }) => ({ loads, per, begun }))
  return {
    source: name,
    concurrency: limits.length === 0 ? null : Math.min(...limits),
    held: holding.reduce((all, { held }) => all + held, 0),
    oldest: holding.length === 0 ? null : Math.max(...holding.map(({ age }) => age)),
    users: users.length,
    waiting: { users: waiting.length, permits: waiting.reduce((all, { wants }) => all + wants, 0) },
    rate,
  }
}
