import { systemClock, timers } from '../../core/time/clock.ts'
import { atMost } from '../../core/time/deadline.ts'
import type { Copies, TrackedCopies, Watch } from '../../core/contract/store.ts'
import { ignoreRejection } from '../../core/errors.ts'
import { namespaceOf } from '../../core/entry/tags.ts'
import { tokens } from '../../core/lease/token.ts'
import type { RedisPort } from '../connection/port.ts'
import { goneIn, type Gone } from '../push/gone.ts'
import type { Message } from '../push/inbox.ts'
import { copiesKey } from './keys.ts'
import { runScript } from '../connection/run-script.ts'
import * as scripts from '../scripts.ts'
import { Tracking } from './tracking.ts'
import { Watcher } from '../push/watcher.ts'

/**
 * How long copies may be served after a sign from Redis was requested, in milliseconds; a writer waits no longer for a
 * silent process.
 */
const window = 300

/**
 * Keeps the near copies of all processes coherent with Redis, by leases (Gray and Cheriton, SOSP 1989).
 *
 * A process with copies keeps its inbox in a list, under a time that it renews. With each renewal it requests a sign,
 * which returns through the inbox behind all earlier messages; its copies may be served for a window from that request.
 * A writer changes the value, then sends a drop to every inbox in the list. It is done when each has acknowledged, or
 * when its time in the list is over, and with it the window of its copies.
 */
export class Coherence {
  readonly #client: RedisPort
  readonly #inbox: () => string
  readonly #token = tokens()
  /** By namespace. */
  readonly #watchers = new Map<string, Watcher>()
  /** The drops without all acknowledgements, by the token of the change. */
  readonly #waiting = new Map<string, (inbox: string) => void>()
  /** The scripts that Redis has not answered yet: one that it has forgotten is sent a second time. */
  readonly #underWay = new Set<Promise<unknown>>()
  /** The namespaces in whose lists this process may be. */
  readonly #listed = new Set<string>()

  /** @param inbox the channel of this process; `''` while it is not subscribed */
  constructor(client: RedisPort, inbox: () => string) {
    this.#client = client
    this.#inbox = inbox
  }

  watch(namespace: string, copies: Copies): Watch {
    return this.#watcherOf(namespace).watch(copies)
  }

  /**
   * As `watch`; and the copies are told of changes by others than the library.
   * @throws TypeError for a client that cannot tell
   */
  watchForeign(namespace: string, copies: TrackedCopies): Watch {
    const [node] = this.#client.nodes()
    if (node !== undefined && node.tracker === undefined) {
      throw new TypeError(
        'Expected a client that tells of changed keys for `near.foreign`; the nodes of this adapter have no tracker()',
      )
    }
    return this.#watcherOf(namespace).watchForeign(copies)
  }

  #watcherOf(namespace: string): Watcher {
    let watcher = this.#watchers.get(namespace)
    if (watcher === undefined) {
      watcher = new Watcher({
        window,
        ask: () => this.#askForSign(namespace),
        track: (told) => new Tracking(this.#client, namespace, told),
        onEnd: () => void this.#watchers.delete(namespace),
      })
      this.#watchers.set(namespace, watcher)
    }
    return watcher
  }

  /** Drops copies in every process; resolves when none of them is served any more. */
  async drop(gone: Pick<Gone, 'keys' | 'tags'>): Promise<void> {
    const [name = ''] = [...gone.keys, ...gone.tags]
    const token = this.#token()
    const heard = new Set<string>()
    let awaited: readonly string[] | null = null
    let done!: () => void
    const all = new Promise<void>((resolve) => (done = resolve))
    const isDone = (): boolean => awaited?.every((inbox) => heard.has(inbox)) ?? false
    // Before the drop is sent: acknowledgements arrive on another connection.
    this.#waiting.set(token, (inbox) => {
      heard.add(inbox)
      if (isDone()) done()
    })
    try {
      const message = JSON.stringify({ from: this.#inbox(), ...gone })
      const reply = await this.#run(scripts.dropCopies, name, [token, message, window])
      const [longest, told] = reply as [unknown, unknown[]]
      awaited = told.map(String)
      if (isDone()) return
      // Both clocks are rounded down.
      const timer = timers.setTimeout(done, Number(longest) + 2)
      await all
      timers.clearTimeout(timer)
    } finally {
      this.#waiting.delete(token)
    }
  }

  /**
   * Takes this process off the lists, so that no writer waits for it. Called only when the inbox closes for good:
   * otherwise a sign under way could let this process serve copies although it is off the lists.
   * @returns resolves when Redis has answered what it was sent, or has been silent for a while
   */
  async leave(): Promise<void> {
    const inbox = this.#inbox()
    for (const namespace of this.#listed)
      ignoreRejection(this.#sent(this.#client.call('hdel', copiesKey(namespace), [inbox])))
    this.#listed.clear()
    if (this.#underWay.size > 0) await atMost(window, systemClock, [Promise.allSettled(this.#underWay)], null)
  }

  /** Handles a message about copies. */
  received(token: string, { kind, body }: Message): void {
    if (kind === 'd') return this.#told(token, body)
    const said = body.toString('latin1')
    if (kind === 'k') this.#waiting.get(token)?.(said)
    else for (const watcher of this.#watchers.values()) watcher.sign(token, said)
  }

  #told(token: string, body: Buffer): void {
    const gone = goneIn(body)
    if (gone === null) return
    this.#watchers.get(namespaceOf([...gone.keys, ...gone.tags][0] ?? ''))?.told(token, gone)
    const inbox = this.#inbox()
    if (gone.from === inbox) this.#waiting.get(token)?.(inbox)
    else if (gone.from !== '') ignoreRejection(this.#client.call('publish', null, [gone.from, `k${token}${inbox}`]))
  }

  #askForSign(namespace: string): string | null {
    const inbox = this.#inbox()
    if (inbox === '') return null
    const token = this.#token()
    this.#listed.add(namespace)
    ignoreRejection(this.#run(scripts.keepCopies, namespace, [inbox, window, token]))
    return token
  }

  #run(script: scripts.Script, name: string, args: readonly (string | number)[]): Promise<unknown> {
    return this.#sent(runScript(this.#client, script, [copiesKey(name)], args))
  }

  async #sent(reply: Promise<unknown>): Promise<unknown> {
    this.#underWay.add(reply)
    try {
      return await reply
    } finally {
      this.#underWay.delete(reply)
    }
  }
}
