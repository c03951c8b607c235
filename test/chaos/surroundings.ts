import type { RedisSpec } from '../support/fleet.ts'
import { startNetwork, type Network } from '../support/network.ts'
import { startProxy } from '../support/proxy.ts'
import { missingFor, startCluster, startRedis, startSentinel } from '../support/servers.ts'
import type { RedisCluster, RedisServer, RedisShape, SentinelGroup } from '../support/servers.ts'
import type { Way } from './process.ts'

/** The servers that there can be, by what scenarios call them. */
export interface Servers {
  readonly node: RedisServer
  /** One that speaks TLS. */
  readonly tls: RedisServer
  /** One whose clock can be set. */
  readonly clock: RedisServer
  readonly sentinel: SentinelGroup
  readonly cluster: RedisCluster
}

export type Kind = keyof Servers

/** Servers, and how processes reach them. */
export interface Surroundings<On extends Kind = Kind> {
  readonly servers: Servers[On]
  /** How a process reaches them, and what lies between: the victim is the one in place 0. */
  connect(place: number): Promise<{ redis: RedisSpec; way: Way }>
  /** The servers that hold data now. */
  masters(): Promise<readonly RedisServer[]>
  stop(): Promise<void>
}

/** What lies between processes and several servers: whether the victim has a network of its own. */
interface Between {
  readonly network: boolean
}

/** Starts servers of a kind. */
export async function surroundingsOf<On extends Kind>(kind: On, { network }: Between): Promise<Surroundings<On>> {
  return (await makers[kind]({ network })) as Surroundings<On>
}

/** Why there can be no servers of a kind here; undefined if there can. */
export async function missingOf(kind: Kind): Promise<string | undefined> {
  return kind === 'tls' || kind === 'clock' ? await missingFor(kind) : undefined
}

const makers: { readonly [On in Kind]: (between: Between) => Promise<Surroundings<On>> } = {
  node: () => alone({}),
  tls: () => alone({ tls: true }),
  clock: () => alone({ clock: 'adjustable' }),
  sentinel: async (between) => {
    const servers = await startSentinel()
    const all = [...servers.servers, ...servers.sentinels]
    return group(servers, all, async () => [await servers.master()].filter((each) => each !== undefined), {
      ...between,
      direct: { options: { sentinels: servers.sentinels.map(addressOf), name: 'herdless', ...advised } },
      through: (network) => ({
        options: {
          sentinels: network.addressesOf(servers.sentinels),
          name: 'herdless',
          natMap: network.natMap,
          ...advised,
        },
      }),
    })
  },
  cluster: async (between) => {
    const servers = await startCluster({ replicas: 1, nodeTimeout: 1_000 })
    const options = { redisOptions: advised }
    return group(servers, servers.nodes, () => servers.mastersNow(), {
      ...between,
      direct: { nodes: servers.nodes.map(addressOf), cluster: options },
      through: (network) => ({
        nodes: network.addressesOf(servers.nodes),
        cluster: { ...options, natMap: network.natMap },
      }),
    })
  },
}

/**
 * What the documentation advises, in milliseconds: a connection on which commands wait and nothing comes is ended, and a
 * server that loads its data is not believed how long it will take.
 */
const advised = { socketTimeout: 1_500, maxLoadingRetryTime: 1_000 }

/** One server, which each process reaches through two proxies of its own. */
async function alone<On extends 'node' | 'tls' | 'clock'>(shape: RedisShape): Promise<Surroundings<On>> {
  const servers = await startRedis(shape)
  const ways: Required<Pick<Way, 'commands' | 'subscriber'>>[] = []
  return {
    servers,
    async connect() {
      const way = { commands: await startProxy(servers), subscriber: await startProxy(servers) }
      ways.push(way)
      const { maxLoadingRetryTime } = advised
      const options = { ...servers.address, ...addressOf(way.commands), maxLoadingRetryTime }
      const redis = { options, subscriber: addressOf(way.subscriber) }
      return { way, redis }
    },
    masters: async () => [servers],
    async stop() {
      await Promise.all(ways.flatMap(({ commands, subscriber }) => [commands.stop(), subscriber.stop()]))
      await servers.stop()
    },
  }
}

interface Specs extends Between {
  readonly direct: RedisSpec
  readonly through: (network: Network) => RedisSpec
}

/** Several servers, which processes reach directly, but for a victim with a network of its own. */
function group<On extends 'sentinel' | 'cluster'>(
  servers: Servers[On],
  all: readonly RedisServer[],
  masters: () => Promise<readonly RedisServer[]>,
  { network: isThrough, direct, through }: Specs,
): Surroundings<On> {
  const networks: Network[] = []
  return {
    servers,
    masters,
    async connect(place) {
      if (!isThrough || place > 0) return { way: {}, redis: direct }
      const network = await startNetwork(all)
      networks.push(network)
      return { way: { network }, redis: through(network) }
    },
    async stop() {
      await Promise.all(networks.map((network) => network.stop()))
      await servers.stop()
    },
  }
}

function addressOf({ port }: { readonly port: number }): { host: string; port: number } {
  return { host: '127.0.0.1', port }
}
