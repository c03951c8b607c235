import { startRedis, type RedisServer } from './redis-server.ts'
import type { RedisShape } from './redis-shape.ts'

/** Starts servers that know nothing of each other. */
export async function startNodes(count: number, shape: RedisShape = {}): Promise<RedisNodes> {
  return new RedisNodes(await Promise.all(Array.from({ length: count }, () => startRedis(shape))))
}

/** Servers that know nothing of each other. */
export class RedisNodes {
  readonly nodes: readonly RedisServer[]

  constructor(nodes: readonly RedisServer[]) {
    this.nodes = nodes
  }

  /** The nodes, to be taken apart. */
  [Symbol.iterator](): Iterator<RedisServer> {
    return this.nodes[Symbol.iterator]()
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}
