import { timers } from '../core/time/clock.ts'
import { ignoreRejection } from '../core/errors.ts'
import { replyTo, createModes, says, type Stat, type ZooKeeperClient } from './client.ts'
import type { Session } from './session.ts'

/** The pause before a call that failed with its connection is repeated, in milliseconds. */
const betweenTries = 100

const nothing = Buffer.alloc(0)

/** A place in the queue of a lock: a numbered node below the lock's node that lives as long as the session. */
export interface Place {
  readonly path: string
  readonly parent: string
}

/**
 * The places in the queues of locks (zookeeper.apache.org, "Recipes and Solutions": locks). The first place holds the
 * lock; every other watches the place before it.
 */
export class Places {
  readonly #session: Session
  readonly #root: string
  /** The watchers of nodes, by path. */
  readonly #watchers = new Map<string, Set<() => void>>()

  constructor(session: Session, root: string) {
    this.#session = session
    this.#root = root
  }

  /** Takes the last place in a queue. */
  async enlist(name: string, token: string): Promise<Place> {
    const parent = `${this.#root}/${name}`
    const client = await this.#session.client()
    try {
      return { path: await this.#create(client, parent, `${parent}/${token}-`), parent }
    } catch (error) {
      // The node may have been created all the same, and would block every place behind it.
      if (says(error, 'connectionLoss')) ignoreRejection(this.#sweep(parent, token))
      throw error
    }
  }

  /** The path of the place before this one: `null` for the first place, `gone` if this place no longer exists. */
  async before({ path, parent }: Place): Promise<{ before: string | null; czxid: bigint } | 'gone'> {
    const client = await this.#session.client()
    const [children, stat] = await Promise.all([
      childrenOf(client, parent),
      replyTo<Stat | null>((callback) => client.exists(path, callback)),
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

  /** Calls `tell` when a node is deleted. Returns a function that stops it, or `null` if the node does not exist. */
  async watch(path: string, tell: () => void): Promise<(() => void) | null> {
    const client = await this.#session.client()
    const watchers = this.#watchers.get(path) ?? new Set()
    this.#watchers.set(path, watchers)
    watchers.add(tell)
    try {
      // Not `exists`: of a node that is gone, it would watch for ever whether there is another one.
      await replyTo<unknown>((callback) => client.getData(path, this.#watcherOf(path, watchers), callback))
      return () => void watchers.delete(tell)
    } catch (error) {
      watchers.delete(tell)
      if (watchers.size === 0) this.#watchers.delete(path)
      if (says(error, 'noNode')) return null
      throw error
    }
  }

  /** The session has ended, and all watches with it. */
  forget(): void {
    this.#watchers.clear()
  }

  /**
   * Whether a place and its session exist. It is asked with a write, because a write needs the leader's agreement: a
   * server that has lost the ensemble still answers reads.
   */
  async confirm({ path }: Place): Promise<boolean> {
    const client = await this.#session.client()
    try {
      await replyTo<void>((callback) => client.setData(path, nothing, callback))
      return true
    } catch (error) {
      if (says(error, 'noNode', 'sessionExpired')) return false
      throw error
    }
  }

  /**
   * Removes a place; resolves with whether it existed. Repeats the call until the reply is known or the session is
   * over.
   */
  remove({ path, parent }: Place): Promise<boolean> {
    let tried: ZooKeeperClient | null = null
    return this.#persistently(async (client) => {
      try {
        await removed(client, path, parent)
        return true
      } catch (error) {
        // The last attempt of the same session has removed it, and its reply was lost.
        if (says(error, 'noNode')) return client === tried
        if (says(error, 'sessionExpired')) return false
        tried = client
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
        const results = await replyTo<readonly { readonly path?: string }[]>((callback) => made.commit(callback))
        return String(results[1]?.path)
      } catch (error) {
        if (says(error, 'noNode')) {
          await replyTo<void>((callback) => client.mkdirp(this.#root, callback))
          continue
        }
        if (!says(error, 'nodeExists')) throw error
      }
      try {
        return await replyTo<string>((callback) => client.create(child, createModes.ephemeralSequential, callback))
      } catch (error) {
        // The last place has just been removed together with the parent.
        if (!says(error, 'noNode')) throw error
      }
    }
  }

  /** Removes every place that was created for a token. */
  async #sweep(parent: string, token: string): Promise<void> {
    const children = await this.#persistently((client) => childrenOf(client, parent))
    const ours = children.filter((child) => child.startsWith(`${token}-`))
    await Promise.all(ours.map((child) => this.remove({ path: `${parent}/${child}`, parent })))
  }

  /** Repeats a call that failed with its connection, with a pause in between, until its reply is known. */
  async #persistently<T>(run: (client: ZooKeeperClient) => Promise<T>): Promise<T> {
    for (;;) {
      const client = await this.#session.client()
      try {
        return await run(client)
      } catch (error) {
        if (!says(error, 'connectionLoss')) throw error
      }
      await new Promise<void>((resolve) => timers.setTimeout(resolve, betweenTries).unref())
    }
  }

  /** The same function for the same path, because a client recognises its watcher by that. */
  #watcherOf(path: string, watchers: Set<() => void> & { fire?: () => void }): () => void {
    watchers.fire ??= () => {
      if (this.#watchers.get(path) === watchers) this.#watchers.delete(path)
      for (const tell of watchers) tell()
    }
    return watchers.fire
  }
}

async function childrenOf(client: ZooKeeperClient, parent: string): Promise<string[]> {
  return await replyTo<string[]>((callback) => client.getChildren(parent, callback)).catch((error: unknown) => {
    if (says(error, 'noNode')) return []
    throw error
  })
}

/** Removes a place, and the node of the lock if this was its last place, so that no name stays for ever. */
async function removed(client: ZooKeeperClient, path: string, parent: string): Promise<void> {
  try {
    const both = client.transaction().remove(path).remove(parent)
    await replyTo<unknown>((callback) => both.commit(callback))
  } catch (error) {
    if (!says(error, 'notEmpty')) throw error
    await replyTo<void>((callback) => client.remove(path, callback))
  }
}

/** The number that the server has given to a node. */
function numberOf(path: string): number {
  return Number(path.slice(-10))
}
