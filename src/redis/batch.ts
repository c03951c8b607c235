import type { RedisClient } from './client.ts'
import { runScript } from './run-script.ts'
import type { Script } from './scripts.ts'

/** A script blocks the server while it runs: so many at once, and so many bytes. */
const mostItems = 100
const mostBytes = 1_048_576

type Argument = string | Buffer | number

interface Item {
  readonly keys: readonly string[]
  readonly args: readonly Argument[]
  readonly bytes: number
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * Runs of a script that does the same for several keys: those of one tick go out as one command. In a cluster the keys live
 * on many nodes: there each goes out on its own.
 */
export class Batch {
  readonly #client: RedisClient
  readonly #script: Script
  #thisTick: Item[] = []

  constructor(client: RedisClient, script: Script) {
    this.#client = client
    this.#script = script
  }

  /** Each run has as many keys and arguments as the others. */
  run(keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      // Not in a microtask: those who ask in one tick have not all come as far by then.
      if (this.#thisTick.length === 0) process.nextTick(this.#endTick)
      const bytes = args.reduce<number>((sum, arg) => sum + (Buffer.isBuffer(arg) ? arg.length : 0), 0)
      this.#thisTick.push({ keys, args, bytes, resolve, reject })
    })
  }

  readonly #endTick = (): void => {
    const items = this.#thisTick
    this.#thisTick = []
    const most = this.#client.isCluster ? 1 : mostItems
    let some: Item[] = []
    let bytes = 0
    for (const item of items) {
      if (some.length === most || (some.length > 0 && bytes + item.bytes > mostBytes)) {
        this.#send(some)
        some = []
        bytes = 0
      }
      some.push(item)
      bytes += item.bytes
    }
    this.#send(some)
  }

  #send(items: readonly Item[]): void {
    const keys = items.flatMap((item) => item.keys)
    const args = [items.length, ...items.flatMap((item) => item.args)]
    runScript(this.#client, this.#script, keys, args).then(
      (answers) => {
        for (const [index, { resolve, reject }] of items.entries()) {
          const answer = (answers as unknown[])[index]
          if (answer instanceof Error) reject(answer)
          else resolve(answer)
        }
      },
      (error: unknown) => {
        // The server refused all because of one: a key that this user may not use, or that is elsewhere.
        const refused = /^(NOPERM|CROSSSLOT)/.test((error as Error).message)
        if (refused && items.length > 1) for (const item of items) this.#send([item])
        else for (const { reject } of items) reject(error)
      },
    )
  }
}
