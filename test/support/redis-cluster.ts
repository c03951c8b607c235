import { Cluster } from 'ioredis'
import { until } from '../../scripts/until.mjs'
import { Clients } from './clients.ts'
import { startRedis, type RedisServer } from './redis-server.ts'

export interface ClusterShape {
  /** How many nodes hold slots; 3 by default. */
  readonly masters?: number
  /** How many replicas each of them has; none by default. */
  readonly replicas?: 0 | 1
  /** After how many milliseconds of silence a node is taken for dead; 2,000 by default. */
  readonly nodeTimeout?: number
}

const slotCount = 16_384

/** Starts a cluster; resolves when every node sees every slot covered and every replica follows its master. */
export async function startCluster({
  masters = 3,
  replicas = 0,
  nodeTimeout = 2_000,
}: ClusterShape = {}): Promise<RedisCluster> {
  const args = [
    '--cluster-enabled',
    'yes',
    '--cluster-node-timeout',
    String(nodeTimeout),
    '--repl-diskless-sync-delay',
    '0',
  ]
  const nodes = await Promise.all(Array.from({ length: masters * (1 + replicas) }, () => startRedis({ args })))
  const cluster = new RedisCluster(nodes.slice(0, masters), nodes.slice(masters))
  try {
    await introduce(cluster)
    await shareSlots(cluster)
    await attachReplicas(cluster)
    await until('the cluster covers all slots', () => isWhole(cluster))
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

  /** A new client, disconnected by `stop`. */
  connect(options: ConstructorParameters<typeof Cluster>[1] = {}): Cluster {
    const addresses = this.nodes.map(({ port }) => ({ host: '127.0.0.1', port }))
    return this.#clients.add(new Cluster(addresses, options))
  }

  /** The node that serves a key now, as `witness` sees it: give one that is alive. */
  async masterOf(key: string, witness: RedisServer = this.#first): Promise<RedisServer> {
    const slot = await witness.client.cluster('KEYSLOT', key)
    const ranges = await witness.client.cluster('SLOTS')
    const [, , [, servingPort] = []] = ranges.find(([first, last]) => first <= slot && slot <= last) ?? []
    const master = this.nodes.find(({ port }) => port === servingPort)
    if (!master) throw new Error(`Nobody serves ${key}, which is in slot ${slot}`)
    return master
  }

  async stop(): Promise<void> {
    this.#clients.disconnect()
    await Promise.all(this.nodes.map((node) => node.stop()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  get #first(): RedisServer {
    return this.nodes[0] as RedisServer
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
  const links = await Promise.all(replicas.map(({ client }) => client.info('replication')))
  return (
    infos.every((info) => info.includes('cluster_state:ok\r') && info.includes(`cluster_slots_ok:${slotCount}\r`)) &&
    links.every((link) => link.includes('master_link_status:up\r'))
  )
}
