import { TickBatch } from '../../core/time/clock.ts'
import type { RedisPort } from './port.ts'
import { runScript } from './run-script.ts'
import type { Script } from '../scripts.ts'

/** The most items and bytes in one command: a script blocks the server while it runs. */
const mostItems = 100
const mostBytes = 1_048_576

type Argument = string | Buffer | number

interface Item {
  readonly keys: readonly string[]
  readonly args: readonly Argument[]
  readonly bytes: number
  readonly resolve: (reply: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * Runs of one script for several keys. The runs of one tick go out as one command. In a cluster, where the keys live on
 * several nodes, each goes out on its own.
 */
export class Batch {
  readonly #client: RedisPort
  readonly #script: Script
  readonly #thisTick = new TickBatch<Item>((items) => this.#sendAll(items))

  constructor(client: RedisPort, script: Script) {
    this.#client = client
    this.#script = script
  }

  /** Runs the script for one item. All items have the same number of keys and arguments. */
  run(keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const bytes = args.reduce<number>((sum, arg) => sum + (Buffer.isBuffer(arg) ? arg.length : 0), 0)
      this.#thisTick.add({ keys, args, bytes, resolve, reject })
    })
  }

  #sendAll(items: readonly Item[]): void {
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
      (replies) => {
        for (const [index, { resolve, reject }] of items.entries()) {
          const reply = (replies as unknown[])[index]
          if (reply instanceof Error) reject(reply)
          else resolve(reply)
        }
      },
      (error: unknown) => {
        // One item made the server refuse the whole command, a forbidden key or a key of another slot; or the client.
        const refused =
          /^(NOPERM|CROSSSLOT)/.test((error as Error).message) ||
          (this.#client.refusesWhole === true && this.#client.isReply(error))
        if (refused && items.length > 1) for (const item of items) this.#send([item])
        else for (const { reject } of items) reject(error)
      },
    )
  }
}
