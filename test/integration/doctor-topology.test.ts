import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { guardianOfThisProcess } from '../../tools/servers/guarded-process.mjs'
import { until } from '../../tools/until.mjs'
import { startProxy } from '../support/proxy.ts'
import { clientLibrary } from '../support/node-redis.ts'
import {
  missingFor,
  startCluster,
  startRedis,
  startSentinel,
  type RedisCluster,
  type RedisServer,
} from '../support/servers.ts'
import { BlockModules } from '../docs/blocks.ts'
import { doc } from '../docs/markdown.ts'
import { checksWith, examined, herdless, of, type Told } from './doctor.ts'

const roomy = ['--maxmemory', '64mb', '--maxmemory-policy', 'allkeys-lru']

describe('a master with a replica: the doctor', () => {
  let master: RedisServer
  let replica: RedisServer

  beforeAll(async () => {
    master = await startRedis({ args: [...roomy, '--repl-diskless-sync-delay', '0'] })
    replica = await startRedis({ args: [...roomy, '--replicaof', '127.0.0.1', String(master.port)] })
    await until('the replica follows', async () =>
      (await master.client.info('replication')).includes('slave0:ip=127.0.0.1,port=' + replica.port + ',state=online'),
    )
  })

  afterAll(async () => {
    await replica?.stop()
    await master?.stop()
  })

  test('sees that a write reaches the replica', async () => {
    const { told } = await examined(master.url)
    expect(of(told, 'replicas')).toMatchObject([
      { level: 'ok', what: expect.stringMatching(/^1 connected, a write was acknowledged after .* \(WAIT 1\)$/) },
    ])
    expect(await master.client.keys('*')).toEqual([])
  })

  test('refuses the replica', async () => {
    const { code, told } = await examined(replica.url)
    expect(code).toBe(1)
    expect(checksWith(told, 'problem')).toEqual(['lease', 'replicas'])
    expect(of(told, 'lease')).toMatchObject([{ what: expect.stringContaining('READONLY') }])
    expect(of(told, 'replicas')).toMatchObject([{ what: `A replica of 127.0.0.1:${master.port}` }])
  })

  test('says that there are too few replicas to write', async () => {
    await master.client.config('SET', 'min-replicas-to-write', '2')
    const { told } = await examined(master.url)
    await master.client.config('SET', 'min-replicas-to-write', '0')
    expect(checksWith(told, 'problem')).toEqual(['lease', 'replicas'])
    expect(of(told, 'lease')).toMatchObject([{ what: expect.stringContaining('NOREPLICAS') }])
    expect(of(told, 'replicas')[0]?.what).toBe('Writes need 2 replicas (min-replicas-to-write), and there is 1')
  })

  test('warns where messages are listened to elsewhere than they are sent', async () => {
    const ports = [master.port]
    // The first connection leads to the master, all others to the replica: messages arrive, and nobody knows who listens.
    await using balancer = await startProxy({
      get port() {
        return ports.pop() ?? replica.port
      },
    })
    const { told } = await examined(`redis://127.0.0.1:${balancer.port}`)
    expect(of(told, 'messages')).toMatchObject([
      { level: 'warning', what: 'It is not known who listens: PUBSUB NUMSUB does not count the subscriber' },
      { level: 'ok' },
    ])
  })

  test('warns of a replica that acknowledges nothing', async () => {
    await replica.freeze()
    const { told } = await examined(master.url)
    replica.thaw()
    expect(of(told, 'replicas')).toMatchObject([
      { level: 'warning', what: '1 connected, none of which acknowledged a write within 1 s (WAIT 1)' },
    ])
  })
})

describe('a cluster: the doctor', () => {
  let cluster: RedisCluster
  const urls = (): string[] => cluster.nodes.map(({ url }) => url)

  beforeAll(async () => {
    cluster = await startCluster()
    for (const { client } of cluster.masters) {
      await client.config('SET', 'maxmemory', '64mb')
      await client.config('SET', 'maxmemory-policy', 'allkeys-lru')
    }
  })

  afterAll(async () => {
    await cluster?.stop()
  })

  function servers(told: readonly Told[]): string[] {
    return [...new Set(told.map(({ server }) => server))].toSorted((a, b) => a.localeCompare(b))
  }

  test('examines all masters, whichever node it is given', async () => {
    const { code, told } = await examined('--cluster', '--command-timeout', '30s', urls()[1] ?? '')
    expect(code).toBe(0)
    const names = cluster.masters.map(({ port }) => `127.0.0.1:${port}`).toSorted((a, b) => a.localeCompare(b))
    expect(servers(told)).toEqual(['', ...names])
    expect(of(told, 'cluster')).toMatchObject([
      { level: 'ok', server: '', what: '3 masters, all 16384 slots, state ok' },
      { level: 'note', what: 'Of 3 masters, 3 without a replica' },
    ])
    expect(of(told, 'clocks')).toMatchObject([{ level: 'ok', server: '' }])
    for (const check of ['lease', 'messages', 'rights']) {
      expect(of(told, check).map(({ level }) => level)).toEqual(['ok', 'ok', 'ok'])
    }
    expect(of(told, 'rights')[0]?.what).toContain(`${clientLibrary === 'node-redis' ? 25 : 24} commands`)
    for (const { client } of cluster.masters) expect(await client.keys('*')).toEqual([])
  })

  test('says that a node was given without --cluster, and a server with it', async () => {
    const node = await examined(urls()[0] ?? '')
    expect(checksWith(node.told, 'problem')).toEqual(['server'])
    expect(node.told[0]?.what).toContain('a node of a cluster')
    await using server = await startRedis()
    const single = await examined('--cluster', server.url)
    expect(checksWith(single.told, 'problem')).toEqual(['cluster'])
    expect(single.told[0]?.what).toContain('cluster support disabled')
  })

  test('says that slots are on the move', async () => {
    const [from, to] = cluster.masters as [RedisServer, RedisServer]
    const target = (await to.client.cluster('MYID')) as string
    await from.client.cluster('SETSLOT', 0, 'MIGRATING', target)
    const { code, told } = await examined('--cluster', from.url)
    await from.client.cluster('SETSLOT', 0, 'STABLE')
    expect(of(told, 'cluster').filter(({ level }) => level === 'warning')).toMatchObject([
      { what: `127.0.0.1:${from.port} is moving 1 slot` },
    ])
    expect(code).toBe(0)
  })

  test('names what a user lacks in a cluster', async () => {
    for (const { client } of cluster.masters) {
      await client.call('ACL', 'SETUSER', 'shop', 'on', '>secret', 'allkeys', 'allchannels', '+@all', '-cluster|info')
    }
    const { told } = await examined('--cluster', `redis://shop:secret@127.0.0.1:${cluster.masters[0]?.port}`)
    expect(of(told, 'rights').map(({ what }) => what)).toEqual(Array(3).fill('User shop has no right to +cluster|info'))
  })

  test('goes on when one master is not reached, and says so', async () => {
    const [frozen, other] = cluster.masters as [RedisServer, RedisServer]
    await frozen.freeze()
    const { code, told } = await examined('--cluster', frozen.url, other.url)
    frozen.thaw()
    expect(code).toBe(1)
    expect(servers(told)).toHaveLength(4)
    expect(of(told, 'server').find(({ server }) => server === `127.0.0.1:${frozen.port}`)).toMatchObject({
      level: 'problem',
      what: expect.stringMatching(/^Not reached: 127/),
    })
  })

  test('says that slots belong to nobody', async () => {
    await until('the cluster is whole again', async () => {
      const infos = await Promise.all(cluster.masters.map(({ client }) => client.cluster('INFO')))
      return infos.every((info) => info.includes('cluster_state:ok'))
    })
    // A message of the owner that is under way assigns the slot to it again: the owner comes first, and all are asked again.
    await until('the slot belongs to nobody', async () => {
      const infos: string[] = []
      for (const { client } of cluster.masters.toReversed()) {
        const info = await client.cluster('INFO')
        infos.push(info)
        if (info.includes('cluster_slots_assigned:16384')) await client.cluster('DELSLOTS', 16_000)
      }
      return infos.every((info) => info.includes('cluster_state:fail'))
    })
    const { code, told } = await examined('--cluster', ...urls())
    expect(code).toBe(1)
    expect(of(told, 'cluster')[0]).toMatchObject({
      level: 'problem',
      what: '1 slot of 16384 without a master (cluster_state fail)',
    })
    expect(of(told, 'lease').map(({ what }) => what)).toEqual(
      Array(3).fill(expect.stringMatching(/^A load was refused: .*CLUSTERDOWN/)),
    )
  })
})

describe('sentinels: the doctor', () => {
  test('examines the master that they name, and themselves', async () => {
    await using group = await startSentinel()
    const urls = group.sentinels.map(({ url }) => url)
    const { code, told } = await examined('--sentinel', 'herdless', ...urls)
    expect(code).toBe(0)
    const master = (await group.master())?.port
    expect(of(told, 'sentinels')).toMatchObject([
      { level: 'ok', what: `3 sentinels, of which 3 were asked, agree on 127.0.0.1:${master}` },
    ])
    expect(of(told, 'replicas')).toMatchObject([{ level: 'ok', server: `127.0.0.1:${master}` }])

    const loads = await herdless(['leases', '--sentinel', 'herdless', ...urls])
    expect(loads).toMatchObject({ code: 0, err: '', out: 'Nothing is being loaded\n' })
    const nobody = await herdless(['leases', '--sentinel', 'other', ...urls])
    expect(nobody).toMatchObject({ code: 2, err: expect.stringMatching(/^herdless: Nobody could be asked: /) })

    const unknown = await herdless(['doctor', '--sentinel', 'other', ...urls])
    expect(unknown).toMatchObject({ code: 2, err: expect.stringContaining('knows no master of this name') })

    // A user whom the servers know, and the sentinels do not.
    for (const { client } of group.servers) {
      await client.call('ACL', 'SETUSER', 'shop', 'on', '>geheim', 'allkeys', 'allchannels', '+@all')
    }
    const [first = '', ...others] = urls
    const known = first.replace('//', '//shop:geheim@')
    const closed = await examined('--sentinel', 'herdless', known, ...others)
    expect(of(closed.told, 'rights')).toMatchObject([{ what: expect.stringMatching(/^User shop has all rights/) }])

    await Promise.all(group.sentinels.slice(1).map((sentinel) => sentinel.kill()))
    await until('the last one misses them', async () =>
      group.sentinels[0]?.client.call('SENTINEL', 'CKQUORUM', 'herdless').then(
        () => false,
        () => true,
      ),
    )
    const alone = await examined('--sentinel', 'herdless', known, ...others)
    expect(of(alone.told, 'sentinels').map(({ level }) => level)).toEqual(['warning', 'warning', 'problem'])
    expect(of(alone.told, 'sentinels')[2]?.what).toContain('NOQUORUM')

    const sentinelAsServer = await examined(first)
    expect(checksWith(sentinelAsServer.told, 'problem')).toEqual(['server'])
  })
})

const withoutTls = await missingFor('tls')

describe.skipIf(withoutTls !== undefined)('TLS: the doctor', () => {
  let server: RedisServer
  let authority: string

  beforeAll(async () => {
    server = await startRedis({ args: roomy, tls: true })
    authority = join(await guardianOfThisProcess().newFolder(), 'ca.pem')
    await writeFile(authority, server.address.tls?.ca ?? '')
  })

  afterAll(async () => {
    await server?.stop()
  })

  test('examines a server whose authority it is given', async () => {
    const { code, told } = await examined(server.url, '--tls-ca', authority)
    expect(code).toBe(0)
    expect(of(told, 'access')).toMatchObject([{ level: 'ok', what: 'Over TLS, without a password' }])
  })

  test('has a page whose code connects to such a server', async () => {
    const blocks = doc('docs/production.md').blocks.filter(({ code }) => code.includes('REDIS_CA'))
    expect(blocks).toHaveLength(1)
    await using modules = await BlockModules.make(blocks)
    await modules.compile()
    const [block] = blocks as [(typeof blocks)[number]]
    const known = await modules.run(block, { REDIS_URL: server.url, REDIS_CA: authority })
    expect(known).toEqual({ code: 0, output: 'hello\n' })
    expect(await server.client.exists('{shop:greeting}')).toBe(1)
    await server.client.flushall()
    await modules.run(block, { REDIS_URL: server.url })
    expect(await server.client.exists('{shop:greeting}')).toBe(0)
  })

  test('ends with 2 where it does not know the authority', async () => {
    const { code, err } = await herdless(['doctor', server.url])
    expect(err).toMatch(/^Nothing could be examined: 127\.0\.0\.1:\d+: .*certificate/)
    expect(code).toBe(2)
  })
})
