import type { Copies, Watch } from '../core/store.ts'
import { quietly } from '../core/quietly.ts'
import { namespaceOf } from '../core/tags.ts'
import { tokens } from '../core/token.ts'
import type { RedisClient } from './client.ts'
import { goneIn, type Gone } from './gone.ts'
import type { Message } from './inbox.ts'
import { copiesKey } from './keys.ts'
import { runScript } from './run-script.ts'
import * as scripts from './scripts.ts'
import { Watcher } from './watcher.ts'

/**
 * For how long a process that keeps copies may serve them without a sign from Redis, in milliseconds; whoever lets a value
 * go waits no longer for one that is silent.
 */
const window = 300

/**
 * Keeps the copies of values, in whatever process, coherent with Redis.
 *
 * Who keeps copies has its inbox in a list, for a while, and puts it there again and again. Each time a sign comes back
 * through the inbox, behind whatever was told before, and copies may be served for a while from when it was asked for: a
 * lease on all of them (Gray and Cheriton, SOSP 1989). Who lets a value go tells all in the list, and is done when each has
 * said that it has heard, or its time in the list is over, and so is that of its copies.
 */
export class Coherence {
  readonly #client: RedisClient
  readonly #inbox: () => string
  readonly #token = tokens()
  readonly #watchers = new Set<Watcher>()
  /** Who waits for messages, by what they are about. */
  readonly #listeners = new Map<string, (said: string) => void>()

  /** @param inbox where this process can be told something; `''` if it cannot */
  constructor(client: RedisClient, inbox: () => string) {
    this.#client = client
    this.#inbox = inbox
  }

  watch(namespace: string, copies: Copies): Watch {
    const watcher: Watcher = new Watcher(namespace, copies, {
      window,
      say: (confirmed) => this.#say(namespace, confirmed),
      onClose: () => void this.#watchers.delete(watcher),
    })
    this.#watchers.add(watcher)
    return watcher
  }

  /** Has every process let go of copies; resolves when none of them is served any more. */
  async drop(gone: Omit<Gone, 'from'>): Promise<void> {
    const [name = ''] = [...gone.keys, ...gone.tags]
    const token = this.#token()
    const message = `d${token}${JSON.stringify({ from: this.#inbox(), ...gone })}`
    const heard = new Set<string>()
    let awaited: readonly string[] | null = null
    let done!: () => void
    const all = new Promise<void>((resolve) => (done = resolve))
    const isDone = (): boolean => awaited?.every((inbox) => heard.has(inbox)) ?? false
    // Before it is sent: what they say comes on another connection.
    this.#listeners.set(token, (inbox) => {
      heard.add(inbox)
      if (isDone()) done()
    })
    try {
      const reply = await runScript(this.#client, scripts.dropCopies, [copiesKey(name)], [message, window])
      const [last, ...told] = reply as unknown[]
      awaited = told.map(String)
      if (isDone()) return
      // Both clocks are rounded down.
      const timer = setTimeout(done, Number(last) + 2)
      await all
      clearTimeout(timer)
    } finally {
      this.#listeners.delete(token)
    }
  }

  /** What was told to this process may not have arrived. */
  interrupted(): void {
    for (const watcher of this.#watchers) watcher.interrupted()
  }

  /** A message about copies. */
  received(token: string, { kind, body }: Message): void {
    if (kind === 'k') return this.#listeners.get(token)?.(body.toString('latin1'))
    const gone = goneIn(body)
    if (gone === null) return
    const { from, keys, tags } = gone
    const namespace = namespaceOf([...keys, ...tags][0] ?? '')
    for (const watcher of this.#watchers) {
      if (watcher.namespace !== namespace) continue
      if (keys.length > 0) watcher.copies.drop(keys)
      if (tags.length > 0) watcher.copies.dropTags(tags)
    }
    const inbox = this.#inbox()
    if (from === inbox) this.#listeners.get(token)?.(inbox)
    else if (from !== '') quietly(this.#client.publish(from, `k${token}${inbox}`))
  }

  /** Has this process told what goes; returns what ends the wait for the sign, `null` if it cannot be told. */
  #say(namespace: string, confirmed: (all: boolean) => void): (() => void) | null {
    const inbox = this.#inbox()
    if (inbox === '') return null
    const token = this.#token()
    this.#listeners.set(token, (all) => {
      // Said to one of several caches of the namespace, it holds for all of them: they have one place in the list.
      if (all !== '1') for (const each of this.#watchers) if (each.namespace === namespace) each.interrupted()
      confirmed(all === '1')
    })
    quietly(runScript(this.#client, scripts.keepCopies, [copiesKey(namespace)], [inbox, window, token]))
    return () => void this.#listeners.delete(token)
  }
}
