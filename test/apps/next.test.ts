import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { command } from '../../tools/command.mjs'
import { unpackInto } from '../../tools/pack.mjs'
import { until } from '../../tools/until.mjs'
import { startRedis, type RedisServer } from '../support/redis-server.ts'
import { AppProcess } from './app-process.ts'
import { apps } from './given-package.ts'

const app = join(apps, 'next16')

/** What pages are made of: it counts how often it is asked for what, and answers when it is let. */
class Source {
  readonly asked = new Map<string, number>()
  readonly #server: Server
  #held: Promise<void> = Promise.resolve()

  constructor() {
    this.#server = createServer(async (request, response) => {
      const name = request.url?.slice(1) ?? ''
      const times = (this.asked.get(name) ?? 0) + 1
      this.asked.set(name, times)
      await this.#held
      response.end(`${name}#${times}`)
    }).listen(0)
  }

  async url(): Promise<string> {
    if (!this.#server.listening) await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Answers nothing until the returned function is called. */
  hold(): () => void {
    let release!: () => void
    this.#held = new Promise((resolve) => (release = resolve))
    return release
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

let redis: RedisServer

beforeAll(async () => {
  await unpackInto(app)
  redis = await startRedis()
}, 300_000)
afterAll(async () => redis?.stop())

describe.each(['use-cache', 'isr'] as const)('three processes of Next 16, %s', (mode) => {
  let source: Source
  let fleet: AppProcess[] = []

  beforeAll(async () => {
    // No Redis is there when it builds.
    const env = { HANDLER: 'herdless', MODE: mode, NEXT_TELEMETRY_DISABLED: '1', REDIS_URL: 'redis://127.0.0.1:1' }
    await rm(join(app, `.next-herdless-${mode}`), { recursive: true, force: true })
    await command(process.execPath, [join(app, 'node_modules/next/dist/bin/next'), 'build'], { cwd: app, env })
  }, 600_000)

  beforeEach(async () => {
    source = new Source()
    const env = {
      HANDLER: 'herdless',
      MODE: mode,
      REDIS_URL: redis.url,
      NAMESPACE: randomUUID(),
      SOURCE_URL: await source.url(),
    }
    fleet = await Promise.all([1, 2, 3].map(() => AppProcess.start('next16/start.mjs', env)))
  }, 120_000)
  afterEach(async () => {
    await Promise.all(fleet.map((each) => each.stop()))
    source.close()
  })

  /** What each process shows of a page, to several who ask at once. */
  async function shown(name: string, many = 3): Promise<Set<string>> {
    const asking = fleet.flatMap((each) => Array.from({ length: many }, () => each.ask(`/${mode}/${name}`)))
    const answers = await Promise.all(asking)
    return new Set(answers.map(({ status, body }) => `${status} ${/\w+#\d+/.exec(String(body))?.[0]}`))
  }

  async function revalidate(what: object): Promise<void> {
    const url = `http://127.0.0.1:${fleet[0]?.port}/revalidate`
    const { status } = await fetch(url, { method: 'POST', body: JSON.stringify(what) })
    expect(status).toBe(200)
  }

  /** Waits until all processes show it, and then they all do. */
  async function served(what: string): Promise<void> {
    const isAll = (all: Set<string>): true | undefined => (all.size === 1 && all.has(`200 ${what}`)) || undefined
    await until(`${what} is served`, async () => isAll(await shown('a', 1)), 20_000)
    expect(await shown('a')).toEqual(new Set([`200 ${what}`]))
  }

  test('render an entry once: cold, stale, and after a revalidation', async () => {
    expect(await shown('a')).toEqual(new Set(['200 a#1']))
    expect(source.asked).toEqual(new Map([['a', 1]]))
    // It is stale after five seconds: then it is served on while one renders.
    const release = source.hold()
    const rendersAnew = async (): Promise<boolean> => {
      expect(await shown('a')).toEqual(new Set(['200 a#1']))
      return source.asked.get('a') === 2
    }
    await until('one renders', rendersAnew, 30_000)
    expect(await shown('a')).toEqual(new Set(['200 a#1']))
    release()
    await served('a#2')
    // Next answers a route before its revalidation has been carried out.
    await revalidate({ path: `/${mode}/a` })
    await served('a#3')
    if (mode === 'use-cache') {
      await revalidate({ tag: 'a', expire: 0 })
      await served('a#4')
      // Softly: the old one is served while one renders.
      await revalidate({ tag: 'a' })
      await served('a#5')
    }
    expect(source.asked.get('a')).toBe(mode === 'isr' ? 3 : 5)
  }, 120_000)

  test('lose the one that renders: another renders, and all are answered', async () => {
    const [victim, ...others] = fleet as [AppProcess, AppProcess, AppProcess]
    const release = source.hold()
    const gone = victim.ask(`/${mode}/b`).catch(() => 'gone')
    await until('one renders', async () => source.asked.get('b') === 1)
    const waiting = others.map((each) => each.ask(`/${mode}/b`))
    await victim.stop()
    expect(await gone).toBe('gone')
    release()
    const answers = await Promise.all(waiting)
    expect(answers.map(({ body }) => /\w+#\d+/.exec(String(body))?.[0])).toEqual(['b#2', 'b#2'])
    expect(source.asked.get('b')).toBe(2)
  }, 120_000)

  test('answer every page while Redis is frozen, and render one each', async () => {
    expect(await shown('c')).toEqual(new Set(['200 c#1']))
    await redis.freeze()
    try {
      const answers = await shown('d')
      expect([...answers].every((answer) => answer.startsWith('200 d#'))).toBe(true)
      expect(source.asked.get('d')).toBeLessThanOrEqual(3)
    } finally {
      redis.thaw()
    }
  }, 120_000)
})
