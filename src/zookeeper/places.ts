import { ignoreRejection } from '../core/errors.ts'
import { answer, createModes, says, type Stat, type ZooKeeperClient } from './client.ts'
import type { Session } from './session.ts'

/** How long to wait until what failed for the connection is tried again, in milliseconds. */
const betweenTries = 100

const nothing = Buffer.alloc(0)

/** A place in the queue for a lock: a node with a number, below the node of the lock, that lives as long as the session. */
export interface Place {
  readonly path: string
  readonly parent: string
}

/**
 * Places in the queues for locks (zookeeper.apache.org, "Recipes and Solutions": locks). Whoever is first has the lock;
 * each of the others watches the one before.
 */
export class Places {
  readonly #session: Session
  readonly #root: string
  /** Those who watch a node, by its path. */
  readonly #watchers = new Map<string, Set<() => void>>()

  constructor(session: Session, root: string) {
    this.#session = session
    this.#root = root
  }

  /** Takes a place behind all others. */
  async enlist(name: string, token: string): Promise<Place> {
    const parent = `${this.#root}/${name}`
    const client = await this.#session.client()
    try {
      return { path: await this.#create(client, parent, `${parent}/${token}-`), parent }
    } catch (error) {
      // It may have been made all the same, and would block all who come after it.
      if (says(error, 'connectionLoss')) ignoreRejection(this.#sweep(parent, token))
      throw error
    }
  }

  /** Who is before a place: `null` if nobody is, and `gone` if the place is there no more. */
  async before({ path, parent }: Place): Promise<{ before: string | null; czxid: bigint } | 'gone'> {
    const client = await this.#session.client()
    const [children, stat] = await Promise.all([
      childrenOf(client, parent),
      answer<Stat | null>((callback) => client.exists(path, callback)),
    ])
    if (stat === null) return 'gone'
    const mine = numberOf(path)
    const ahead = children.filter((child) => numberOf(child) < mine)
    const last = ahead.reduce<string | null>(
      (latest, child) => (latest === null || numberOf(child) > numberOf(latest) ? child : latest),
      null,
    )
    return { before: last === null ? null : `${parent}/${last}`, czxid: stat.czxid.readBigInt64BE() }
  }

  /** Calls `tell` when a node is deleted. Returns what stops that; `null` if it is not there any more. */
  async watch(path: string, tell: () => void): Promise<(() => void) | null> {
    const client = await this.#session.client()
    const watchers = this.#watchers.get(path) ?? new Set()
    this.#watchers.set(path, watchers)
    watchers.add(tell)
    const stop = (): void => void watchers.delete(tell)
    try {
      const there = await answer<Stat | null>((callback) =>
        client.exists(path, this.#watcherOf(path, watchers), callback),
      )
      if (there !== null) return stop
    } catch (error) {
      stop()
      throw error
    }
    stop()
    return null
  }

  /**
   * Whether a place is there, and the session with it. It is asked by a write, which the leader of the ensemble must agree
   * to: a server that has lost the others goes on answering reads.
   */
  async confirm({ path }: Place): Promise<boolean> {
    const client = await this.#session.client()
    try {
      await answer<void>((callback) => client.setData(path, nothing, callback))
      return true
    } catch (error) {
      if (says(error, 'noNode', 'sessionExpired')) return false
      throw error
    }
  }

  /** Gives a place up; resolves with whether it was there. Goes on until that is known, or the session is over. */
  remove({ path, parent }: Place): Promise<boolean> {
    return this.#persistently(async (client) => {
      try {
        await removed(client, path, parent)
        return true
      } catch (error) {
        if (says(error, 'noNode', 'sessionExpired')) return false
        throw error
      }
    })
  }

  async #create(client: ZooKeeperClient, parent: string, child: string): Promise<string> {
    for (;;) {
      try {
        const made = client
          .transaction()
          .create(parent, createModes.persistent)
          .create(child, createModes.ephemeralSequential)
        const results = await answer<readonly { readonly path?: string }[]>((callback) => made.commit(callback))
        return String(results[1]?.path)
      } catch (error) {
        if (says(error, 'noNode')) {
          await answer<void>((callback) => client.mkdirp(this.#root, callback))
          continue
        }
        if (!says(error, 'nodeExists')) throw error
      }
      try {
        return await answer<string>((callback) => client.create(child, createModes.ephemeralSequential, callback))
      } catch (error) {
        // The last who was there has just taken the parent along.
        if (!says(error, 'noNode')) throw error
      }
    }
  }

  /** Gives up whatever was made for a token. */
  async #sweep(parent: string, token: string): Promise<void> {
    const children = await this.#persistently((client) => childrenOf(client, parent))
    const ours = children.filter((child) => child.startsWith(`${token}-`))
    await Promise.all(ours.map((child) => this.remove({ path: `${parent}/${child}`, parent })))
  }

  /** What must be known: it is tried again whenever the connection was lost, with a little time in between. */
  async #persistently<T>(run: (client: ZooKeeperClient) => Promise<T>): Promise<T> {
    for (;;) {
      const client = await this.#session.client()
      try {
        return await run(client)
      } catch (error) {
        if (!says(error, 'connectionLoss')) throw error
      }
      await new Promise<void>((resolve) => setTimeout(resolve, betweenTries).unref())
    }
  }

  /** The same function for the same path, because a client knows by that that it watches already. */
  #watcherOf(path: string, watchers: Set<() => void> & { fire?: () => void }): () => void {
    watchers.fire ??= () => {
      if (this.#watchers.get(path) === watchers) this.#watchers.delete(path)
      for (const tell of watchers) tell()
    }
    return watchers.fire
  }
}

async function childrenOf(client: ZooKeeperClient, parent: string): Promise<string[]> {
  return await answer<string[]>((callback) => client.getChildren(parent, callback)).catch((error: unknown) => {
    if (says(error, 'noNode')) return []
    throw error
  })
}

/** With the node of the lock, if nobody else is there: no name stays for ever. */
async function removed(client: ZooKeeperClient, path: string, parent: string): Promise<void> {
  try {
    const both = client.transaction().remove(path).remove(parent)
    await answer<unknown>((callback) => both.commit(callback))
  } catch (error) {
    if (!says(error, 'notEmpty')) throw error
    await answer<void>((callback) => client.remove(path, callback))
  }
}

/** The number that the server has given to a node. */
function numberOf(path: string): number {
  return Number(path.slice(-10))
}
