import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { until } from '../../tools/until.mjs'

/** How often clients sent each command, by its name in lower case, such as `{ get: 3, evalsha: 1 }`. */
export type CommandCounts = Record<string, number>

/**
 * Counts the commands that clients send to one server, and not those that scripts run there.
 *
 * `INFO commandstats` and `total_commands_processed` cannot tell the two apart: a call inside a script counts like a
 * client's. MONITOR can: it shows such a call with the source `lua`. It shows all the rest but administrative commands
 * (CONFIG, DEBUG, REPLCONF ...), which a cache does not send. And it shows them in the order in which they ran, so once
 * a marker that was sent last has been seen, the counts are complete.
 */
export class CommandCounter {
  readonly #client: Redis
  readonly #monitor: Redis
  readonly #markers: Map<string, () => void> = new Map()
  #counts: Map<string, number> = new Map()

  private constructor(client: Redis, monitor: Redis) {
    this.#client = client
    this.#monitor = monitor
    monitor.on('monitor', (_time: string, [name = '', argument = '']: string[], source: string) => {
      const markerSeen = this.#markers.get(argument)
      if (markerSeen) markerSeen()
      // Each process looks at the mode of its fleet from time to time.
      else if (source !== 'lua' && !argument.endsWith('}mode')) this.#count(name.toLowerCase())
    })
  }

  /** Counts what the client's server is sent from now on. */
  static async start(client: Redis): Promise<CommandCounter> {
    // Not by `client.monitor()`: that fails when it sees a command before it sees itself as a monitor. Such a command
    // came before the first reset, and is not to be counted.
    const monitor = client.duplicate({ monitor: true, lazyConnect: false })
    monitor.on('error', () => {})
    try {
      await until('the server is monitored', () => String(monitor.status) === 'monitoring')
    } catch (error) {
      monitor.disconnect()
      throw error
    }
    return new CommandCounter(client, monitor)
  }

  async reset(): Promise<void> {
    await this.#everythingSeen()
    this.#counts = new Map()
  }

  async counts(): Promise<CommandCounts> {
    await this.#everythingSeen()
    return Object.fromEntries(this.#counts)
  }

  stop(): void {
    this.#monitor.disconnect()
  }

  #count(name: string): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1)
  }

  async #everythingSeen(): Promise<void> {
    const marker = randomUUID()
    const seen = new Promise<void>((resolve) => this.#markers.set(marker, resolve))
    await this.#client.echo(marker)
    await seen
    this.#markers.delete(marker)
  }
}

/**
 * Counts without what a process does on the side: it asks for the time when its last sample was a bad one, and
 * subscribes again every second, which takes a PING on node-redis.
 */
export function withoutCare({
  time: _time,
  subscribe: _subscribe,
  ping: _ping,
  ...counts
}: CommandCounts): CommandCounts {
  return counts
}
