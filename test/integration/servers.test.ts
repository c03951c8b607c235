import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { access, mkdtemp, readdir, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import { describe, expect, test, vi } from 'vitest'
import { until } from '../../tools/until.mjs'
import { startRedis } from '../support/servers.ts'

describe('one server', () => {
  test.for(['port', 'socket'] as const)('listens on a %s', async (listen) => {
    await using server = await startRedis({ listen })
    const client = server.connect()
    expect(await client.ping()).toBe('PONG')
    const byUrl = new Redis(server.url)
    expect(await byUrl.ping()).toBe('PONG')
    byUrl.disconnect()
  })

  test('says why it does not come up', async () => {
    await expect(startRedis({ args: ['--no-such-option', '1'] })).rejects.toThrow(/did not come up.*no-such-option/s)
  })

  test('starts elsewhere when its port is taken', async () => {
    await using first = await startRedis()
    const sameDraw = (first.port - 10_000 + 0.5) / 10_000
    const random = vi.spyOn(Math, 'random').mockReturnValueOnce(sameDraw)
    await using second = await startRedis()
    expect(random.mock.results.map(({ value }) => value)).toEqual([sameDraw, expect.any(Number)])
    expect(second.port).not.toBe(first.port)
  })

  test('does not take the server of another process for its own', async () => {
    await using first = await startRedis()
    await expect(startRedis({ listen: first.address })).rejects.toThrow('did not come up')
  })

  test('answers nothing while frozen, and everything once thawed', async () => {
    await using server = await startRedis()
    const client = server.connect({ commandTimeout: 200 })
    await client.set('key', 'before')
    await server.freeze()
    await expect(client.get('key')).rejects.toThrow('Command timed out')
    const patient = server.client.get('key')
    server.thaw()
    expect(await patient).toBe('before')
    expect(client.status).toBe('ready')
  })

  test('is gone when killed, and empty at the same address when restarted', async () => {
    await using server = await startRedis()
    const { address, pid } = server
    await server.client.set('key', 'value')
    await server.kill()
    const impatient = server.connect({ retryStrategy: null })
    await expect(impatient.ping()).rejects.toThrow('Connection is closed')
    await server.restart()
    expect(server.address).toEqual(address)
    expect(server.pid).not.toBe(pid)
    expect(await server.client.get('key')).toBeNull()
  })

  test('can be stopped while it is frozen', async () => {
    const server = await startRedis()
    await server.freeze()
    await server.stop()
    expect(isRunning(server.pid)).toBe(false)
  })
})

describe('the count of commands', () => {
  test('holds what clients send, and not what scripts call', async () => {
    await using server = await startRedis()
    const client = server.connect()
    const script =
      "redis.call('SET', KEYS[1], 'value') return { redis.call('GET', KEYS[1]), redis.call('GET', KEYS[1]) }"
    const sha = (await client.script('LOAD', script)) as string
    await server.resetCounts()
    await client.evalsha(sha, 1, 'key')
    await Promise.all([client.get('key'), client.get('key'), client.get('other')])
    await client.mget('key', 'other')
    await client.multi().set('key', 'again').exec()
    await client.subscribe('channel')
    expect(await server.commandCounts()).toEqual({
      evalsha: 1,
      get: 3,
      mget: 1,
      multi: 1,
      set: 1,
      exec: 1,
      subscribe: 1,
    })
    const statistics = await server.client.info('commandstats')
    expect(statistics, 'the statistics of the server count both, that is why they are not used').toContain(
      'cmdstat_get:calls=5,',
    )
  })

  test('can be begun while clients are busy, where it failed once', async () => {
    await using server = await startRedis()
    const clients = Array.from({ length: 5 }, () => server.connect())
    let counting = false
    const busy = clients.map(async (client) => {
      while (!counting) await client.get('key')
    })
    await server.client.ping()
    await server.resetCounts().finally(() => (counting = true))
    await Promise.all(busy)
    await server.resetCounts()
    await server.client.set('key', 'value')
    expect(await server.commandCounts()).toEqual({ set: 1 })
  })
})

describe('a test process', () => {
  test.for(['SIGKILL', 'SIGINT', 'SIGTERM', 'throw', 'return'])(
    'that ends by %s leaves no server behind',
    async (end) => {
      const orphan = fork(fileURLToPath(new URL('../support/orphan.mjs', import.meta.url)), [], {
        execArgv: [],
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      })
      const exited = once(orphan, 'exit')
      const [{ pid, folder }] = (await once(orphan, 'message')) as [{ pid: number; folder: string }]
      expect(isRunning(pid)).toBe(true)
      if (end.startsWith('SIG')) orphan.kill(end as NodeJS.Signals)
      else orphan.send(end)
      await exited
      await until(`server ${pid} is gone`, () => !isRunning(pid))
      await until(`${folder} is gone`, () =>
        access(folder).then(
          () => false,
          () => true,
        ),
      )
    },
  )

  test('that ends while its guardian is still loaded leaves no folder behind', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'starter-'))
    const guarded = new URL('../../tools/servers/guarded-process.mjs', import.meta.url).href
    const start = `import { guardianOfThisProcess } from '${guarded}'; guardianOfThisProcess(); process.exit()`
    execFileSync(process.execPath, ['--input-type=module', '-e', start], { env: { ...process.env, TMPDIR: folder } })
    await until('its folder is gone', async () => (await readdir(folder)).length === 0)
    await expect(rmdir(folder)).resolves.toBeUndefined()
  })
})

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
