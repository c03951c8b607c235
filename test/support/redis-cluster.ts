import { isDeepStrictEqual } from 'node:util'
import { Cluster } from 'ioredis'
import { until } from '../../tools/until.mjs'
import { Clients } from './clients.ts'
import { startRedis, type RedisServer } from './redis-server.ts'
import { roleOf, streamingAtOnce, type Failover } from './replication.ts'
import { SlotMove, type MovePace } from './slot-move.ts'

export interface ClusterShape {
  /** How many nodes hold slots; 3 by default. */
  readonly masters?: number
  /** How many replicas each of them has; none by default. */
  readonly replicas?: 0 | 1
  /** After how many milliseconds of silence a node is taken for dead; 2,000 by default. */
  readonly nodeTimeout?: number
  /** Gives a clock of its own to every node, for `shiftClock`. */
  readonly clock?: 'adjustable'
}

const slotCount = 16_384

/** Starts a cluster; resolves when every node sees every slot covered and every replica follows its master. */
export async function startCluster({
  masters = 3,
  replicas = 0,
  nodeTimeout = 2_000,
  ...own
}: ClusterShape = {}): Promise<RedisCluster> {
  const args = ['--cluster-enabled', 'yes', '--cluster-node-timeout', String(nodeTimeout), ...streamingAtOnce]
  const nodes = await Promise.all(Array.from({ length: masters * (1 + replicas) }, () => startRedis({ args, ...own })))
  const cluster = new RedisCluster(nodes.slice(0, masters), nodes.slice(masters))
  try {
    await introduce(cluster)
    await shareSlots(cluster)
    await attachReplicas(cluster)
    await cluster.whole()
    return cluster
  } catch (error) {
    await cluster.stop()
    throw error
  }
}

/**
 * A cluster of servers of our own. `masters` and `replicas` say what each was started as, whatever has happened since.
 */
export class RedisCluster {
  readonly masters: readonly RedisServer[]
  readonly replicas: readonly RedisServer[]
  readonly nodes: readonly RedisServer[]
  readonly #clients: Clients<Cluster> = new Clients()

  constructor(masters: readonly RedisServer[], replicas: readonly RedisServer[]) {
    this.masters = masters
    this.replicas = replicas
    this.nodes = [...masters, ...replicas]
  }

  /** A new client, disconnected by `stop`. It begins with the nodes at these addresses, their own by default. */
  connect(
    options: ConstructorParameters<typeof Cluster>[1] = {},
    addresses: { host: string; port: number }[] = this.nodes.map(({ port }) => ({ host: '127.0.0.1', port })),
  ): Cluster {
    return this.#clients.add(new Cluster(addresses, options))
  }

  /** The nodes that run and take themselves for masters now. */
  async mastersNow(): Promise<RedisServer[]> {
    const running = this.#running
    const roles = await Promise.all(running.map(roleOf))
    return running.filter((_, index) => roles[index]?.isMaster)
  }

  /** The slot of a key. */
  async slotOf(key: string): Promise<number> {
    return this.#witness.client.cluster('KEYSLOT', key)
  }

  /** The node that serves a key now, as `witness` sees it: by default the first that runs. */
  async masterOf(key: string, witness: RedisServer = this.#witness): Promise<RedisServer> {
    return this.masterOfSlot(await this.slotOf(key), witness)
  }

  /** The node that serves a slot now, as `witness` sees it. */
  async masterOfSlot(slot: number, witness: RedisServer = this.#witness): Promise<RedisServer> {
    const port = servedBy(await viewOf(witness)).get(slot)
    const master = this.nodes.find((node) => node.port === port)
    if (!master) throw new Error(`Nobody serves slot ${slot}`)
    return master
  }

  /** The slots that a node serves now. */
  async slotsOf({ port }: RedisServer): Promise<readonly number[]> {
    return (await viewOf(this.#witness)).find((node) => node.port === port)?.slots ?? []
  }

  /**
   * Takes the place from a master; resolves with the replica that has it now, once all nodes that run say so and serve
   * again. By a takeover, nobody asks the master, or waits for what it has not sent yet.
   */
  async failover(master: RedisServer, how: Failover | 'takeover' = 'command'): Promise<RedisServer> {
    const [slot] = await this.slotsOf(master)
    if (slot === undefined) throw new TypeError(`Expected a node that serves slots, ${master.port} does not`)
    const replica = await until(`${master.port} knows a replica of its own`, () => this.#replicaOf(master))
    if (how === 'kill') await master.kill()
    else if (how === 'freeze') await master.freeze()
    else if (how === 'takeover') await replica.client.cluster('FAILOVER', 'TAKEOVER')
    else await replica.client.cluster('FAILOVER')
    return await until(
      'the nodes agree on a new master',
      async () => {
        const views = await Promise.all(this.#running.map((node) => this.masterOfSlot(slot, node)))
        const states = await Promise.all(this.#running.map(({ client }) => client.cluster('INFO')))
        const [successor] = views
        const agreed = successor !== master && views.every((view) => view === successor)
        return agreed && states.every((state) => state.includes('cluster_state:ok\r')) && successor
      },
      30_000,
    )
  }

  /** Opens the move of a slot to another master, to be gone through step by step. */
  async beginMove(slot: number, to: RedisServer): Promise<SlotMove> {
    return SlotMove.begin(slot, await this.masterOfSlot(slot), to, await this.mastersNow())
  }

  /** Moves slots to another master, one after the other, key by key; resolves when all nodes know. */
  async moveSlots(slots: readonly number[], to: RedisServer, pace: MovePace = {}): Promise<void> {
    for (const slot of slots) await (await this.beginMove(slot, to)).run(pace)
    await until('all nodes know who serves the slots', async () => {
      const views = await Promise.all(this.#running.map(viewOf))
      return views.map(servedBy).every((view) => slots.every((slot) => view.get(slot) === to.port))
    })
  }

  /**
   * Brings back whatever was killed or frozen; resolves when the cluster is whole. A master that lost its place follows
   * the one that has it now.
   */
  async restore(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.revive()))
    await this.whole()
  }

  /** Resolves when all nodes see every slot served, by the same masters, and all others follow one of them. */
  async whole(): Promise<void> {
    await until('the cluster covers all slots', () => isWhole(this), 30_000)
  }

  async stop(): Promise<void> {
    this.#clients.disconnect()
    await Promise.all(this.nodes.map((node) => node.stop()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  get #running(): RedisServer[] {
    return this.nodes.filter(({ running }) => running)
  }

  get #witness(): RedisServer {
    const [first] = this.#running
    if (!first) throw new Error('No node of the cluster runs')
    return first
  }

  /** A master that does not know its replica would not hear of its wish to take over. */
  async #replicaOf(master: RedisServer): Promise<RedisServer | undefined> {
    const ports = (await viewOf(master)).filter(({ follows }) => follows === master.port).map(({ port }) => port)
    return this.#running.find(({ port }) => ports.includes(port))
  }
}

/** Makes every node know every other one. Their epochs differ from the start, so that nothing is left to be settled. */
async function introduce({ nodes }: RedisCluster): Promise<void> {
  await Promise.all(nodes.map(({ client }, index) => client.cluster('SET-CONFIG-EPOCH', index + 1)))
  await Promise.all(nodes.flatMap(({ client }) => nodes.map(({ port }) => client.cluster('MEET', '127.0.0.1', port))))
  await until('all nodes of the cluster know each other', async () => {
    const infos = await Promise.all(nodes.map(({ client }) => client.cluster('INFO')))
    return infos.every((info) => info.includes(`cluster_known_nodes:${nodes.length}\r`))
  })
}

async function shareSlots({ masters }: RedisCluster): Promise<void> {
  const share = slotCount / masters.length
  const slots = Array.from({ length: slotCount }, (_, slot) => slot)
  await Promise.all(
    masters.map(({ client }, index) =>
      client.cluster('ADDSLOTS', ...slots.filter((slot) => Math.floor(slot / share) === index)),
    ),
  )
}

async function attachReplicas({ masters, replicas }: RedisCluster): Promise<void> {
  const ids = await Promise.all(masters.map(({ client }) => client.cluster('MYID')))
  await Promise.all(replicas.map(({ client }, index) => client.cluster('REPLICATE', ids[index] as string)))
}

async function isWhole({ nodes, replicas }: RedisCluster): Promise<boolean> {
  const infos = await Promise.all(nodes.map(({ client }) => client.cluster('INFO')))
  const roles = await Promise.all(nodes.map(roleOf))
  const views = await Promise.all(nodes.map(viewOf))
  return (
    infos.every((info) => info.includes('cluster_state:ok\r') && info.includes(`cluster_slots_ok:${slotCount}\r`)) &&
    roles.filter(({ follows }) => follows !== undefined).length === replicas.length &&
    views.every((view) => isDeepStrictEqual(view, views[0]))
  )
}

/** What one node of the cluster is taken for by another. */
interface NodeView {
  readonly port: number
  /** The port of its master. */
  readonly follows: number | undefined
  readonly slots: readonly number[]
}

/** What one node takes all of them for, by their ports. */
async function viewOf({ client }: RedisServer): Promise<NodeView[]> {
  const lines = String(await client.cluster('NODES'))
    .trim()
    .split('\n')
  const rows = lines.map((line) => {
    const [id, address = '', , master, , , , , ...ranges] = line.split(' ')
    return { id, master, port: Number(/:(\d+)@/.exec(address)?.[1]), slots: ranges.flatMap(slotsOfRange) }
  })
  return rows
    .map(({ port, master, slots }) => ({ port, slots, follows: rows.find(({ id }) => id === master)?.port }))
    .toSorted((one, other) => one.port - other.port)
}

/** The slots that `7` or `7-9` stand for; none for `[7->-...]`, which speaks of one that is on the move. */
function slotsOfRange(range: string): number[] {
  const [first = 0, last = first] = range.split('-').map(Number)
  return range.startsWith('[') ? [] : Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

/** The port of the master of each slot. */
function servedBy(view: readonly NodeView[]): Map<number, number> {
  return new Map(view.flatMap(({ port, slots }) => slots.map((slot): [number, number] => [slot, port])))
}
