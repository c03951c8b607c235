import { endsOf, epochsIn, isVoid, type TagEpochs } from '../../core/entry/tags.ts'
import { namespacePrefix } from '../../core/entry/key.ts'
import { portOf } from '../../redis/clients/redis-client.ts'
import type { RedisPort } from '../../redis/connection/port.ts'
import type { RedisClient } from '../../redis/index.ts'
import { entryIn } from '../../redis/values/entry.ts'
import { tagKey, valueKey, valuePattern } from '../../redis/values/keys.ts'
import { mostSteps, scan } from '../scan.ts'

/** What a purge voids, by its names in the store. */
export interface Reach {
  /** The name of a value; `null` if there is none. */
  readonly own: string | null
  /** The tag of the values; `null` without `own` for all values. */
  readonly tag: string | null
}

/** How many values something reaches, at least. */
export interface Count {
  readonly values: number
  /** Whether all keys were counted. */
  readonly isComplete: boolean
}

/** The bytes of a value that are read: its header and what is said about it. The second is for very many tags. */
const headLengths = [1_024, 262_144] as const

interface Counting {
  readonly namespace: string
  readonly reaches: readonly Reach[]
  /** Whether all keys are counted, however many there are. */
  readonly isThorough: boolean
}

/**
 * Counts the values that each of these reaches, and that may still be served, with a scan of all keys; `null` for a user
 * without the right to that.
 */
export async function countReached(
  client: RedisClient,
  { namespace, reaches, isThorough }: Counting,
): Promise<readonly Count[] | null> {
  const port = portOf(client)
  const heads = new Heads(port)
  const pattern = valuePattern(namespacePrefix(namespace), '')
  const values = reaches.map(() => 0)
  let isComplete = true
  try {
    await heads.begin()
    for (const server of port.nodes()) {
      const seen = new Set<string>()
      let isLast = false
      for await (const keys of scan(server, pattern, isThorough ? Number.POSITIVE_INFINITY : mostSteps)) {
        isLast = keys.isLast
        const fresh = keys.names.filter((name) => !seen.has(name))
        for (const name of fresh) seen.add(name)
        const found = await Promise.all(fresh.map((name) => heads.valueAt(name.slice(1, -1))))
        for (const [index, { own, tag }] of reaches.entries()) {
          values[index] =
            (values[index] ?? 0) + found.filter((value) => value !== null && isReached(value, { own, tag })).length
        }
      }
      isComplete &&= isLast
    }
  } catch (error) {
    if (port.isReply(error)) return null
    throw error
  }
  return values.map((count) => ({ values: count, isComplete }))
}

function isReached({ name, tags }: { name: string; tags: readonly string[] }, { own, tag }: Reach): boolean {
  return name === own || (tag === null ? own === null : tags.includes(tag))
}

/** Values without their payloads, as they lie in Redis. */
class Heads {
  readonly #port: RedisPort
  readonly #epochs = new Map<string, Promise<TagEpochs | null>>()
  /** By the clock of the server, in milliseconds. */
  #now = 0

  constructor(port: RedisPort) {
    this.#port = port
  }

  async begin(): Promise<void> {
    const [seconds] = (await this.#port.call('time', null, [])) as unknown[]
    this.#now = Number(seconds) * 1_000
  }

  /** The tags of a value; `null` if there is none that may be served. */
  async valueAt(name: string): Promise<{ readonly name: string; readonly tags: readonly string[] } | null> {
    for (const length of headLengths) {
      const bytes = await this.#port.call('getrange', valueKey(name), [0, length - 1]).catch(noString)
      const entry = Buffer.isBuffer(bytes) ? entryIn(bytes, this.#now) : null
      if (entry === null || entry.staleFor <= 0) return null
      const { tags, since } = entry
      // This is what it says if it was cut off.
      if (tags.includes('')) continue
      const epochs = await Promise.all(tags.map((tag) => this.#epochsOf(tag)))
      return isVoid(endsOf(since, epochs)) ? null : { name, tags }
    }
    return null
  }

  #epochsOf(tag: string): Promise<TagEpochs | null> {
    const known = this.#epochs.get(tag)
    if (known !== undefined) return known
    const asked = this.#port.get(tagKey(tag)).then((bytes) => bytes && epochsIn(bytes.toString('latin1')))
    this.#epochs.set(tag, asked)
    return asked
  }
}

/** A key of another type holds no value. */
function noString(error: Error): null {
  if (error.message.startsWith('WRONGTYPE')) return null
  throw error
}
