import type { TrackedCopies } from '../../core/contract/store.ts'
import type { RedisPort } from '../connection/port.ts'
import { EachNode } from '../push/each-node.ts'
import type { ForeignChanges, ToldOfForeign } from '../push/watcher.ts'
import { tokenIn } from './entry.ts'
import { keyOfValue } from './keys.ts'

/** The bytes of a value that name its load. */
const header = [0, 47] as const

/**
 * Tells near copies of one namespace of changes that no message of the library tells of: by other programs, by eviction,
 * by FLUSHALL. Redis reports every write, those of the library too. So a copy is compared with the value in Redis, and
 * dropped unless both are of one load.
 */
export class Tracking implements ForeignChanges {
  readonly #client: RedisPort
  readonly #prefix: string
  readonly #nodes: EachNode
  readonly #copies: () => Iterable<TrackedCopies>

  constructor(client: RedisPort, namespace: string, { copies, changed }: ToldOfForeign) {
    this.#client = client
    this.#prefix = `${client.keyPrefix}{${namespace}`
    this.#copies = copies
    this.#nodes = new EachNode(client, changed)
    this.#nodes.open((node, events) => node.tracker?.(this.#prefix, { ...events, changed: this.#heard }))
  }

  get isWhole(): boolean {
    return this.#nodes.isWhole
  }

  close(): void {
    this.#nodes.close()
  }

  readonly #heard = (names: readonly Buffer[] | null): void => {
    if (names === null) {
      for (const copies of this.#copies()) copies.dropAll()
      return
    }
    // Leases and tags have the prefix, too.
    for (const name of names.map(String)) if (name.endsWith('}')) this.#compare(name)
  }

  #compare(name: string): void {
    const key = keyOfValue(name, this.#client.keyPrefix)
    const doubted = [...this.#copies()].filter((copies) => copies.doubt(key) !== null)
    if (doubted.length === 0) return
    const drop = (token: string | null): void => {
      for (const copies of doubted) if (copies.doubt(key) !== token) copies.drop([key])
    }
    this.#client.call('getrange', `{${key}}`, [...header]).then(
      (bytes) => drop(tokenIn(bytes)),
      () => drop(null),
    )
  }
}
