import { rm } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { startProxy } from '../support/proxy.ts'
import { startRedis, type RedisServer } from '../support/servers.ts'
import { checksWith, examined, of } from './doctor.ts'

const roomy = ['--maxmemory', '64mb', '--maxmemory-policy', 'allkeys-lru']

function configure({ client }: RedisServer, settings: Record<string, string>): Promise<unknown> {
  return Promise.all(Object.entries(settings).map(([name, value]) => client.config('SET', name, value)))
}

describe('memory: the doctor', () => {
  test.for([
    { what: 'a server without a limit', args: [], says: /^No limit \(maxmemory 0\)/ },
    {
      what: 'the policy that evicts leases first',
      args: ['--maxmemory', '64mb', '--maxmemory-policy', 'volatile-ttl'],
      says: /^volatile-ttl/,
    },
    {
      what: 'a limit beyond what the system has',
      args: ['--maxmemory', '900000gb', '--maxmemory-policy', 'allkeys-lru'],
      says: /^maxmemory is 879 TiB, and the system has/,
    },
  ])('warns of $what', async ({ args, says }) => {
    await using server = await startRedis({ args })
    const { told } = await examined(server.url)
    expect(checksWith(told, 'warning')).toEqual(['memory'])
    expect(of(told, 'memory').filter(({ level }) => level === 'warning')).toMatchObject([
      { what: expect.stringMatching(says) },
    ])
  })

  test('warns of a server that does not evict, and calls it a problem once it is full', async () => {
    await using server = await startRedis({ args: ['--maxmemory', '64mb'] })
    const before = await examined(server.url)
    expect(of(before.told, 'memory')).toMatchObject([{ level: 'warning', what: expect.stringContaining('noeviction') }])
    await configure(server, { maxmemory: '500kb' })
    const { told } = await examined(server.url)
    expect(checksWith(told, 'problem')).toEqual(['lease', 'memory'])
    expect(of(told, 'lease')).toMatchObject([
      { what: expect.stringMatching(/^A load was refused: OOM/), page: 'docs/production.md#memory' },
    ])
  })
})

describe('persistence: the doctor', () => {
  test('notes what may come back after a crash, with snapshots and with an append-only file', async () => {
    await using server = await startRedis({ args: roomy })
    await configure(server, { save: '3600 1' })
    const snapshots = await examined(server.url)
    expect(of(snapshots.told, 'persistence')).toMatchObject([
      { level: 'note', what: expect.stringMatching(/^Snapshots \(save 3600 1\), the last one .* ago$/) },
    ])
    await configure(server, { appendonly: 'yes' })
    const appended = await examined(server.url)
    expect(of(appended.told, 'persistence')).toMatchObject([
      { level: 'note', what: 'Append-only file (appendfsync everysec)' },
    ])
    await configure(server, { appendfsync: 'always' })
    const synced = await examined(server.url)
    expect(of(synced.told, 'persistence')).toMatchObject([{ level: 'ok' }])
  })

  test('says that writes are refused after a snapshot that failed', async () => {
    await using server = await startRedis({ args: roomy })
    const { client } = server
    await configure(server, { save: '3600 1' })
    const [, folder = ''] = (await client.config('GET', 'dir')) as string[]
    await rm(folder, { recursive: true })
    await client.bgsave()
    await until('the snapshot has failed', async () =>
      (await client.info('persistence')).includes('rdb_last_bgsave_status:err'),
    )
    const refused = await examined(server.url)
    expect(checksWith(refused.told, 'problem')).toEqual(['lease', 'persistence'])
    expect(of(refused.told, 'lease')).toMatchObject([
      { what: expect.stringContaining('MISCONF'), page: 'docs/production.md#persistence' },
    ])
    await configure(server, { 'stop-writes-on-bgsave-error': 'no' })
    const accepted = await examined(server.url)
    expect(checksWith(accepted.told, 'problem')).toEqual([])
    expect(checksWith(accepted.told, 'warning')).toEqual(['persistence'])
  })
})

describe('connections: the doctor', () => {
  test('warns when there is hardly room for more, and of those that were turned away', async () => {
    await using server = await startRedis({ args: [...roomy, '--maxclients', '5'] })
    const others = [server.client, server.connect(), server.connect()]
    await Promise.all(others.map((client) => client.ping()))
    const crowded = await examined(server.url)
    expect(of(crowded.told, 'connections')).toMatchObject([{ level: 'warning', what: '4 of 5 (maxclients), 80 %' }])
    const more = Array.from({ length: 4 }, () => server.connect({ retryStrategy: null }))
    await Promise.allSettled(more.map((client) => client.ping()))
    for (const client of more) client.disconnect()
    for (const client of others.slice(1)) client.disconnect()
    await until('they are gone', async () => (await server.client.info('clients')).includes('connected_clients:1\r'))
    const { told } = await examined(server.url)
    expect(of(told, 'connections')).toMatchObject([
      {
        level: 'warning',
        what: expect.stringMatching(/^\d+ connections? turned away since it was started \(maxclients 5\)$/),
      },
    ])
  })

  test('notes a timeout, and warns of dead peers that are not noticed and of buffers that are too small', async () => {
    await using server = await startRedis({ args: roomy })
    await configure(server, {
      timeout: '77',
      'tcp-keepalive': '0',
      'client-output-buffer-limit': 'pubsub 200kb 100kb 60',
    })
    const { told } = await examined(server.url)
    expect(of(told, 'connections')).toMatchObject([
      { level: 'note', what: 'Connections that are silent for 77 s are ended (timeout)' },
      { level: 'warning', what: expect.stringContaining('tcp-keepalive 0') },
      { level: 'warning', what: expect.stringContaining('at most 100 KiB for a listener') },
    ])
  })
})

describe('messages: the doctor', () => {
  test('notices that a burst of them does not arrive', async () => {
    await using server = await startRedis({ args: roomy })
    await configure(server, { 'client-output-buffer-limit': 'pubsub 1kb 1kb 1' })
    const { code, told } = await examined(server.url)
    expect(code).toBe(1)
    expect(of(told, 'messages')).toMatchObject([
      {
        level: 'problem',
        what: expect.stringMatching(/^Of 16 messages of 4.0 KiB at once, \d+ arrived within 1 s$/),
      },
    ])
    expect((await examined(server.url, '--wake-up', 'poll')).code).toBe(0)
  })
})

describe('time: the doctor', () => {
  test('measures the round trip against commandTimeout', async () => {
    await using server = await startRedis({ args: roomy })
    await using proxy = await startProxy(server)
    proxy.latency = 10
    const url = `redis://127.0.0.1:${proxy.port}`
    const levelWith = async (...args: string[]): Promise<string | undefined> =>
      of((await examined(url, ...args)).told, 'round trip')[0]?.level
    expect(await levelWith()).toBe('ok')
    expect(await levelWith('--lease-ttl', '50ms')).toBe('warning')
    expect(await levelWith('--command-timeout', '15ms')).toBe('problem')
  })

  test('warns of a command that held up the server, without its arguments', async () => {
    await using server = await startRedis({ args: roomy })
    await server.client.eval(`for i = 1, 3e5 do local x = 'geheim' .. i end`, 0)
    const { told } = await examined(server.url, '--command-timeout', '10ms')
    expect(of(told, 'slow commands')).toMatchObject([
      { level: 'warning', what: expect.stringMatching(/^\d+ commands? in the slow log; EVAL took /) },
    ])
    expect(JSON.stringify(told)).not.toContain('geheim')
    expect(of((await examined(server.url, '--command-timeout', '60s')).told, 'slow commands')).toMatchObject([
      { level: 'ok' },
    ])
  })
})
