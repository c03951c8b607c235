import type { Invalidation, NewValue } from '../../core/contract/store.ts'
import { systemClock } from '../../core/time/clock.ts'
import { type RedisPort, isYes } from '../connection/port.ts'
import { runScript } from '../connection/run-script.ts'
import type { ServerClock } from '../connection/server-clock.ts'
import * as scripts from '../scripts.ts'
import type { Coherence } from './coherence.ts'
import { flagsOf, payloadOf } from './entry.ts'
import { copiesKey, leaseKey, valueKey } from './keys.ts'
import type { Tags } from './tags.ts'

/** Writes and invalidations, which need no lease, and void the load of their key. */
export class Overwrites {
  readonly #client: RedisPort
  readonly #clock: ServerClock
  readonly #tags: Tags
  readonly #coherence: Coherence

  constructor(client: RedisPort, clock: ServerClock, tags: Tags, coherence: Coherence) {
    this.#client = client
    this.#clock = clock
    this.#tags = tags
    this.#coherence = coherence
  }

  /** See `Store.set`. */
  async set(key: string, token: string, value: NewValue, within?: number): Promise<void> {
    const { ttl, grace, tags = [] } = value
    const askedAt = systemClock.now()
    // Without the time of the server, nobody could tell that a write came too late: a client may keep it for an outage.
    if (!this.#clock.known) await this.#clock.first()
    const since = tags.length === 0 ? 0 : await this.#tags.markNow(tags, ttl + grace)
    const overwrite = async (): Promise<boolean> => {
      const sentAt = Math.floor(this.#clock.earliestAt(askedAt))
      const life = [Math.ceil(ttl), Math.ceil(grace)]
      return this.#overwrite(key, [token, payloadOf(value, since), ...life, sentAt, within ?? '', flagsOf(value)])
    }
    // Refused as late although it is in time by our clock: the server's clock may have been set, and the reply has told
    // us its time. If the write was late indeed, the second attempt is refused as well.
    if (!(await overwrite()) && !(await overwrite())) throw new Error('The write arrived too late')
  }

  /** See `Store.invalidate`. */
  async invalidate(key: string, how: Invalidation = 'hard'): Promise<void> {
    const within = typeof how === 'number' ? Math.ceil(how) : ''
    await this.#overwrite(key, ['', '', how === 'hard' ? 0 : 'soft', within, '', '', 0])
  }

  async #overwrite(key: string, args: readonly (string | Buffer | number)[]): Promise<boolean> {
    const askedAt = systemClock.now()
    const keys = [valueKey(key), leaseKey(key), ...(this.#client.isCluster ? [] : [copiesKey(key)])]
    const [written, micros, copied] = (await runScript(this.#client, scripts.overwrite, keys, args)) as unknown[]
    this.#clock.sample(Number(micros), askedAt)
    // Only after the write: a copy could be made of the old value before it.
    if (isYes(copied)) await this.#coherence.drop({ keys: [key], tags: [] })
    return isYes(written)
  }
}
