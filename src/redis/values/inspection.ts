import * as scripts from '../scripts.ts'
import type { Inspection, Seen, SeenLease } from '../../core/contract/store.ts'
import { type RedisPort, isYes } from '../connection/port.ts'
import { namespaceOf } from '../../core/entry/tags.ts'
import { entryIn } from './entry.ts'
import { keyOfLease, keyOfValue, leaseKey, leasePattern, valueKey, valuePattern } from './keys.ts'
import { runScript } from '../connection/run-script.ts'
import { failedIn } from './outcome.ts'
import type { Voidable, Tags } from './tags.ts'

/** How many keys a server examines per step of a listing: some tenths of a millisecond of its time. */
const step = 1_000

/** The state of a lease key at one moment. */
interface Looked {
  readonly now: number
  readonly value: Buffer | null
  readonly lease: SeenLease | null
  readonly rest: Seen['rest']
  /** The tags of `rest`. */
  readonly tagged: Voidable | null
}

/** The operations of operators on Redis. */
export class RedisInspection implements Inspection {
  readonly #client: RedisPort
  readonly #tags: Tags

  constructor(client: RedisPort, tags: Tags) {
    this.#client = client
    this.#tags = tags
  }

  async look(key: string): Promise<Seen> {
    const { now, value, lease, rest, tagged } = await this.#look(key, [leaseKey(key), valueKey(key)])
    const entry = value === null ? null : entryIn(value, now)
    const found = entry === null ? { entry, voidedBy: [], softenedBy: [] } : await this.#tags.inspected(entry)
    const isLifted = tagged !== null && (await this.#tags.haveLifted(tagged))
    return { ...found, lease, rest: isLifted ? null : rest }
  }

  /** Scans all keys on all masters: an index of leases would cost every load. */
  async *leases(prefix: string): AsyncGenerator<readonly SeenLease[], void> {
    // A scan may return a key twice, and a slot may move between masters.
    const named = new Set<string>()
    for await (const names of this.names(prefix, 'loads')) {
      const keys = names.filter((key) => !named.has(key))
      for (const key of keys) named.add(key)
      const looked = await Promise.all(keys.map((key) => this.#look(key, [leaseKey(key)])))
      yield looked.flatMap(({ lease }) => lease ?? [])
    }
  }

  async *names(prefix: string, of: 'loads' | 'values'): AsyncGenerator<readonly string[], void> {
    const { keyPrefix } = this.#client
    const [pattern, type, keyOf] =
      of === 'loads'
        ? [leasePattern(prefix, keyPrefix), 'hash', keyOfLease]
        : [valuePattern(prefix, keyPrefix), 'string', keyOfValue]
    for (const server of this.#client.nodes()) {
      let cursor = '0'
      do {
        const args = [cursor, 'MATCH', pattern, 'COUNT', step, 'TYPE', type]
        const [next, names] = (await server.call('scan', args)) as [unknown, readonly unknown[]]
        cursor = String(next)
        // The epoch of the namespace has the name of a value without a key.
        yield names.map((name) => keyOf(String(name), keyPrefix)).filter((key) => key !== namespaceOf(key))
      } while (cursor !== '0')
    }
  }

  async breakLease(key: string, token: string): Promise<boolean> {
    const [ours] = (await runScript(this.#client, scripts.release, [leaseKey(key)], [1, token, 'tell'])) as unknown[]
    return isYes(ours)
  }

  async #look(key: string, keys: readonly string[]): Promise<Looked> {
    const reply = (await runScript(this.#client, scripts.look, keys, [])) as unknown[]
    const now = Number(reply[0]) / 1_000
    const value = Buffer.isBuffer(reply[1]) ? reply[1] : null
    const waiting = Number(reply[3])
    const [state, token, version, since, renewals, holder, error, ttl, answers, context] = reply.slice(4).map(textIn)
    const most = numberIn(ttl, Number.POSITIVE_INFINITY)
    // The same bound as in a claim: nothing lasts longer than intended because the server's clock was set back.
    const left = Math.min(Number(reply[2]), most)
    const nothing = { now, value, lease: null, rest: null, tagged: null }
    if (!token || left <= 0) return nothing
    if (state === 'held') {
      const age = Math.max(0, now - numberIn(since, now))
      const fence = BigInt(Math.trunc(numberIn(version, 0)))
      const said = { holder: holder ?? '', context: context ?? '' }
      const lease = { key, token, fence, ...said, age, left, renewals: numberIn(renewals, 0), waiting }
      return { ...nothing, lease }
    }
    const answerFor = left - (most - numberIn(answers, most))
    if (answerFor <= 0) return nothing
    if (state === 'failed') {
      const failed = failedIn(Buffer.from(error ?? ''))
      return { ...nothing, rest: { failure: failed.failure, left: answerFor }, tagged: failed }
    }
    return state === 'pass' ? { ...nothing, rest: { failure: null, left: answerFor } } : nothing
  }
}

function textIn(reply: unknown): string | null {
  return Buffer.isBuffer(reply) || typeof reply === 'string' ? reply.toString() : null
}

/** The number in a text, or `otherwise`: any client may have written it. */
function numberIn(text: string | null | undefined, otherwise: number): number {
  const number = text === null || text === undefined || text === '' ? Number.NaN : Number(text)
  return Number.isFinite(number) && number >= 0 ? number : otherwise
}
