import { TickBatch } from '../../core/time/clock.ts'
import type { RedisPort } from './port.ts'
import { runScript } from './run-script.ts'
import type { Script } from '../scripts.ts'

/** The most items and bytes in one command: a script blocks the server while it runs. */
const mostItems = 100
const mostBytes = 1_048_576

type Argument = string | Buffer | number

/** What several items have in common, which is sent once, before them. */
export interface InCommon {
  readonly keys: readonly string[]
  readonly args: readonly Argument[]
}

interface Item {
  readonly keys: readonly string[]
  readonly args: readonly Argument[]
  readonly inCommon: InCommon
  readonly bytes: number
  readonly resolve: (reply: unknown) => void
  readonly reject: (error: unknown) => void
}

const nothing: InCommon = { keys: [], args: [] }

/**
 * Runs of one script for several keys. The runs of one tick that have the same in common go out as one command. In a
 * cluster, where the keys live on several nodes, each goes out on its own.
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
  run(keys: readonly string[], args: readonly Argument[], inCommon: InCommon = nothing): Promise<unknown> {
    return new Promise((resolve, reject) => {
      let bytes = 0
      for (const arg of args) if (Buffer.isBuffer(arg)) bytes += arg.length
      this.#thisTick.add({ keys, args, inCommon, bytes, resolve, reject })
    })
  }

  #sendAll(items: readonly Item[]): void {
    const most = this.#client.isCluster ? 1 : mostItems
    const commands: { items: Item[]; bytes: number }[] = []
    for (const item of items) {
      const at = commands.findIndex((command) => isSame((command.items[0] as Item).inCommon, item.inCommon))
      const open = commands[at]
      if (open === undefined) commands.push({ items: [item], bytes: item.bytes })
      else if (open.items.length < most && open.bytes + item.bytes <= mostBytes) {
        open.items.push(item)
        open.bytes += item.bytes
      } else {
        this.#send(open.items)
        commands[at] = { items: [item], bytes: item.bytes }
      }
    }
    for (const command of commands) this.#send(command.items)
  }

  #send(items: readonly Item[]): void {
    const { inCommon } = items[0] as Item
    const keys = [...inCommon.keys]
    const args: Argument[] = [items.length, ...inCommon.args]
    for (const item of items) {
      keys.push(...item.keys)
      args.push(...item.args)
    }
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

function isSame(one: InCommon, other: InCommon): boolean {
  if (one === other) return true
  return one.keys.every((key, at) => key === other.keys[at]) && one.args.every((arg, at) => arg === other.args[at])
}
