import type { Claim, Copies, Entry, NewValue, Store, Watch } from '../../core/contract/store.ts'
import { FarStore, type FarCommand } from './far-store.ts'
import type { Server } from './virtual-server.ts'
import type { Way } from './way.ts'

/** The store of the server, as one process reaches it. */
export class VirtualStore extends FarStore {
  readonly #way: Way
  readonly #server: Server
  readonly #now: () => number

  /** @param now the time of the fleet, in milliseconds */
  constructor(way: Way, server: Server, now: () => number) {
    super()
    this.#way = way
    this.#server = server
    this.#now = now
  }

  override set(key: string, token: string, value: NewValue, within: number = Infinity): Promise<void> {
    const sentAt = this.#now()
    return this.carry('set', key, async () => {
      // As in redis/lua/overwrite.lua, except that setting the server's clock meanwhile has no effect.
      if (this.#now() - sentAt <= within) return await this.store.set(key, token, value, within)
      this.#way.say(named('set', key), 'too late')
      await this.store.invalidate(key)
      throw new Error('The write arrived too late')
    })
  }

  /** A process that is cut off receives no notification, and drops all its copies when it is connected again. */
  override watch(namespace: string, copies: Copies): Watch {
    const way = this.#way
    const heard: Copies = {
      drop: (keys) => void (way.blocked || copies.drop(keys)),
      dropTags: (tags) => void (way.blocked || copies.dropTags(tags)),
      dropAll: () => copies.dropAll(),
    }
    const ends = [this.#server.watch(namespace, heard), way.whenOpen(() => copies.dropAll())]
    return {
      get until() {
        return way.blocked ? 0 : Number.POSITIVE_INFINITY
      },
      keep: () => undefined,
      close: () => ends.forEach((end) => end()),
    }
  }

  protected get store(): Store {
    return this.#server.store
  }

  protected carry<T>(command: FarCommand, key: string, run: () => Promise<T>): Promise<T> {
    return this.#way.carry(named(command, key), run, { aged, unheard })
  }

  protected message<T>(said: Promise<T>, token: string): Promise<T> {
    return this.#way.message(said, () => !this.#server.muted.has(token))
  }
}

function named(command: FarCommand, key: string): string {
  return key === '' ? command : `${command} ${key.slice(key.indexOf(':') + 1)}`
}

/** Ends a wait whose answer was lost, because its claimer never will. */
function unheard(answer: unknown): void {
  const claim = answer as Claim | null
  if (claim?.state === 'wait') claim.leave()
}

/** Ages the entries of an answer by its time under way. */
function aged<T>(answer: T, ms: number): T {
  if (ms === 0 || typeof answer !== 'object' || answer === null) return answer
  if (Array.isArray(answer)) return answer.map((each: unknown) => aged(each, ms)) as T
  const given = answer as Partial<Entry> & { entry?: Entry; stale?: Entry | null }
  if (given.freshFor !== undefined) return { ...answer, ...agedEntry(given as Entry, ms) }
  if (given.entry) return { ...answer, entry: agedEntry(given.entry, ms) }
  if (given.stale) return { ...answer, stale: agedEntry(given.stale, ms) }
  return answer
}

function agedEntry(entry: Entry, ms: number): Entry {
  return { ...entry, age: entry.age + ms, freshFor: entry.freshFor - ms, staleFor: entry.staleFor - ms }
}
