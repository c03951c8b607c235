import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createCache, type Cache } from '../../src/index.ts'
import { redisStore, type RedisClient } from '../../src/redis/index.ts'
import type { Snapshot } from '../../src/cli/watch/snapshot.ts'
import { doc, named, rows } from '../docs/markdown.ts'
import { patient } from '../support/fleet.ts'
import { builtPackage } from '../support/fleet-build.ts'
import { startCluster, startRedis } from '../support/servers.ts'
import { until } from '../../tools/until.mjs'
import { herdless } from './command.ts'

/** A `herdless watch` that goes on, and what it has written. */
class Watching implements AsyncDisposable {
  readonly child: ChildProcess
  out = ''
  err = ''
  readonly ended: Promise<unknown[]>

  constructor(file: string, args: readonly string[]) {
    this.child = spawn(file, args)
    this.ended = once(this.child, 'close')
    this.child.stdout?.on('data', (bytes: Buffer) => (this.out += bytes.toString()))
    this.child.stderr?.on('data', (bytes: Buffer) => (this.err += bytes.toString()))
  }

  get snapshots(): Snapshot[] {
    const lines = this.out.split('\n').slice(0, -1)
    return lines.map((line) => JSON.parse(line) as Snapshot)
  }

  async snapshot(what: string, suits: (snapshot: Snapshot) => boolean): Promise<Snapshot> {
    return await until(what, async () => this.snapshots.find(suits), 60_000)
  }

  async shows(what: RegExp): Promise<void> {
    const isShown = (): boolean => {
      if (what.test(this.out)) return true
      throw new Error(`It shows ${JSON.stringify(this.out.slice(-1_000))}, and says ${JSON.stringify(this.err)}`)
    }
    await until(`it shows ${what}`, isShown, 60_000)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill('SIGKILL')
    await this.ended
  }
}

async function watch(...args: string[]): Promise<Watching> {
  return new Watching(process.execPath, [join(await builtPackage(), 'cli/main.js'), 'watch', ...args])
}

/** A load that others wait for, each with a cache of its own. */
class Stampede implements AsyncDisposable {
  readonly caches: readonly Cache[]
  readonly #end: () => void
  readonly #answers: Promise<unknown>

  private constructor(caches: readonly Cache[], answers: readonly Promise<unknown>[], end: () => void) {
    this.caches = caches
    this.#answers = Promise.all(answers)
    this.#end = end
  }

  static async on(key: string, [holder, ...waiters]: readonly [Cache, ...Cache[]]): Promise<Stampede> {
    let end!: () => void
    const value = new Promise<string>((resolve) => (end = () => resolve('value')))
    const loads = new Promise((resolve) => holder.on('load', resolve))
    const waits = waiters.map((cache) => new Promise((resolve) => cache.on('wait', resolve)))
    const answers = [holder.getOrLoad(key, () => value)]
    await loads
    answers.push(...waiters.map((cache) => cache.getOrLoad(key, () => value)))
    await Promise.all(waits)
    return new Stampede([holder, ...waiters], answers, end)
  }

  async end(): Promise<void> {
    this.#end()
    await this.#answers
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end()
    await Promise.all(this.caches.map((cache) => cache.close()))
  }
}

const server = await startRedis()

beforeEach(() => server.client.flushall())

// Loads are to last until they are looked at, and not for as long as a build takes.
beforeAll(async () => void (await builtPackage()))

afterAll(() => server.stop())

function cacheOf(namespace: string, client: RedisClient = server.connect()): Cache {
  return createCache({ store: redisStore(client), namespace, ...patient })
}

async function inTerminal(url: string): Promise<Watching> {
  const command = `exec ${process.execPath} ${join(await builtPackage(), 'cli/main.js')} watch ${url} --interval 100ms`
  return new Watching('script', ['-qefc', command, '/dev/null'])
}

test('sources --watch looks again and again, until it is interrupted', async () => {
  const store = redisStore(server.connect())
  await using cache = createCache({ store, sources: { pg: { concurrency: 2 } }, source: 'pg', ...patient })
  const args = ['sources', server.url, '--watch', '--interval', '100ms']
  await using watching = new Watching(process.execPath, [join(await builtPackage(), 'cli/main.js'), ...args])
  await watching.shows(/^\d{4}-\d\d-\d\dT\S+Z\nNo source is in use\n/)
  let end = (): void => undefined
  const loading = cache.getOrLoad('key', () => new Promise<string>((resolve) => (end = () => resolve('value'))))
  await watching.shows(/\d{4}-\d\d-\d\dT\S+Z\n"pg" {2}1 of 2 loads running/)
  end()
  await loading
  await watching.shows(/"pg" {2}0 of 2 loads running/)
  watching.child.kill('SIGINT')
  expect(await watching.ended).toEqual([0, null])
  expect(watching.err).toBe('')
})

test('watch tells programs of a stampede with its waiters, and of its end', async () => {
  await using hot = await Stampede.on('user:1', [cacheOf('shop'), cacheOf('shop'), cacheOf('shop')])
  await using cold = await Stampede.on('lonely', [cacheOf('other')])
  await using watching = await watch(server.url, '--interval', '100ms')
  await using one = await watch(server.url, '--interval', '100ms', '--namespace', 'other', '--json')

  const seen = await watching.snapshot('the stampede is seen', ({ loads }) => loads === 2)
  expect(seen).toMatchObject({ waiting: 2, ended: 0, took: expect.any(Number) as number })
  const page = doc('docs/command.md').text.split('\n## ')
  const described = rows(page.find((part) => part.startsWith('herdless watch')) ?? '', 'member')
  expect(Object.keys(seen)).toEqual(described.map(([member]) => named(member)))
  expect(new Date(seen.time).toISOString()).toBe(seen.time)
  expect(seen.leases).toMatchObject([
    { namespace: 'shop', key: 'user:1', waiting: 2, renewals: 0, holder: { host: hostname(), pid: process.pid } },
    { namespace: 'other', key: 'lonely', waiting: 0 },
  ])
  await hot.end()
  const after = await watching.snapshot('the end is seen', ({ ended }) => ended > 0)
  expect(after).toMatchObject({ loads: 1, waiting: 0, ended: 1, leases: [{ key: 'lonely' }] })
  await one.snapshot('the other is seen', ({ loads }) => loads === 1)
  expect(new Set(one.snapshots.flatMap(({ leases }) => leases.map(({ key }) => key)))).toEqual(new Set(['lonely']))
  await cold.end()

  for (const each of [watching, one]) {
    each.child.kill('SIGINT')
    expect(await each.ended).toEqual([0, null])
    expect(each.err).toBe('')
    expect(each.out).not.toMatch(/[^\P{Cc}\n]/u)
  }
})

// util-linux has the `script` that gives a command a terminal.
describe.skipIf(process.platform !== 'linux')('in a terminal', () => {
  test('watch shows a table, and leaves the terminal as it was at Ctrl+C', async () => {
    await using stampede = await Stampede.on('user:1', [cacheOf('shop'), cacheOf('shop')])
    await using watching = await inTerminal(server.url)
    const [enter, leave] = ['\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l', '\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l']
    await watching.shows(/1 +1 +1 +[\d.]+ m?s +[\d.]+ s +0 +\d+@\S+ +shop +user:1/)
    expect(watching.out).toContain('WAITING')
    expect(watching.out).toContain('1 load under way, waiting processes: 1')
    await stampede.end()
    await watching.shows(/ +1 +1 +ended +[\d.]+ m?s ago +0 +\d+@\S+ +shop +user:1/)
    expect(watching.out.startsWith(enter)).toBe(true)
    expect(watching.out).not.toContain(leave)
    watching.child.stdin?.write('\u{3}')
    expect(await watching.ended).toEqual([0, null])
    const left = watching.out.split(leave)[1]?.replaceAll(/\s+/g, ' ')
    expect(left).toMatch(
      /^Watched for .*: at most 1 load at once, .*At its peak, 1 process waited for shop "user:1" at /,
    )
  })

  test('watch leaves the terminal as it was when the server goes away, and says why it ends', async () => {
    await using gone = await startRedis()
    await using watching = await inTerminal(gone.url)
    await watching.shows(/Nothing is being loaded/)
    await gone.kill()
    expect(await watching.ended).toEqual([2, null])
    expect(watching.out.split('\u{1b}[?1049l')[1]).toMatch(
      /^Watched for [\d.]+ m?s: nothing was loaded\s+herdless: Nobody could be asked: /,
    )
  })
})

test('watch ends with 0 when its reader goes away', async () => {
  await using watching = await watch(server.url, '--interval', '100ms')
  await watching.snapshot('it has begun', () => true)
  watching.child.stdout?.destroy()
  expect(await watching.ended).toEqual([0, null])
  expect(watching.err).toBe('')
})

test('the loads of all masters of a cluster are watched, listed and explained', async () => {
  await using cluster = await startCluster({ masters: 3 })
  const cache = cacheOf('shop', cluster.connect())
  let end!: () => void
  const value = new Promise<void>((resolve) => (end = resolve))
  const keys = Array.from({ length: 12 }, (_, index) => `key ${index}`).toSorted()
  const answers = keys.map((key) => cache.getOrLoad(key, () => value))
  const args = ['--cluster', `redis://127.0.0.1:${cluster.nodes[0]?.port}`]
  await using watching = await watch(...args)
  const { leases } = await watching.snapshot('all are seen', ({ loads }) => loads === keys.length)
  expect(leases.map(({ key }) => key).toSorted()).toEqual(keys)
  const held: string[] = []
  for await (const { key } of cache.leases()) held.push(key)
  expect(held.toSorted()).toEqual(keys)
  const listed = await herdless(['leases', ...args])
  expect(listed.out).toMatch(/\n12 loads under way\n$/)
  expect(listed.code).toBe(0)
  const explained = await herdless(['explain', '--namespace', 'shop', ...args, 'key 7'])
  expect(explained.out).toContain(`Process ${process.pid} on`)
  end()
  await Promise.all(answers)
  await cache.close()
})
