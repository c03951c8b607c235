import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import express, { type Express, type Request, type RequestHandler, type Response } from 'express'
import { Redis } from 'ioredis'
import { inject, onTestFinished } from 'vitest'
import { until } from '../../../tools/until.mjs'
import { cacheResponses, type CacheResponsesOptions } from '../../../src/express/index.ts'
import { createCache, type Cache, type CacheEvents, type CacheOptions } from '../../../src/index.ts'
import { redisStore } from '../../../src/redis/index.ts'
import { framed } from './frames.ts'
import { Visitor } from './visitor.ts'

export { whole, type Asked, type Reply } from './visitor.ts'

/** What a site is like. */
export interface SiteShape {
  /** How many apps it has, each with a client and a cache of its own, as the processes of a fleet have. Default 1. */
  readonly apps?: number
  readonly cache?: CacheOptions
  /** Where they find Redis; by default the one that all tests share. */
  readonly redis?: () => Redis
  readonly namespace?: string
}

/** Puts together one of the apps; may return a server that it stands behind. */
export type Stack = (app: Express, cache: Cache) => void | Promise<Server>

/** A site with nothing but one handler behind the cache: behind the middleware of the framework that the project names. */
export async function siteOf(
  handler: RequestHandler,
  { options = {}, ...shape }: SiteShape & { readonly options?: CacheResponsesOptions } = {},
): Promise<Site> {
  return await siteWith((app, cache) => {
    if (framed === null) app.use(cacheResponses(cache, options))
    app.use(handler)
    if (framed !== null) return framed(app, cache, options)
  }, shape)
}

/** A site of Express apps, in every project, that are all put together the same way. */
export async function siteWith(stack: Stack, shape: SiteShape = {}): Promise<Site> {
  return await siteOn(async (cache) => {
    const app = express()
    app.disable('x-powered-by')
    // Errors are what some tests are about: nobody has to read them.
    app.set('env', 'test')
    return (await stack(app, cache)) ?? createServer(app)
  }, shape)
}

/** A site of servers that are all made the same way. */
export async function siteOn(make: (cache: Cache) => Promise<Server>, shape: SiteShape = {}): Promise<Site> {
  const { apps = 1, redis = () => new Redis(inject('redisUrl')), namespace = randomUUID() } = shape
  const all: Running[] = []
  for (let index = 0; index < apps; index++) {
    const client = redis()
    client.on('error', () => {})
    // A busy machine takes its time.
    const cache = createCache({ commandTimeout: '60s', store: redisStore(client), ...shape.cache, namespace })
    const server = await make(cache)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    all.push({ server, cache, client, port: (server.address() as AddressInfo).port })
  }
  // From here on each is told of outcomes.
  for (const { cache } of all) await cache.getOrLoad('warm', () => 1)
  return new Site(all)
}

interface Running {
  readonly server: Server
  readonly cache: Cache
  readonly client: Redis
  readonly port: number
}

/** Apps that listen, and what is asked of them. */
export class Site extends Visitor implements AsyncDisposable {
  readonly #apps: readonly Running[]
  readonly #heard = new Map<keyof CacheEvents, number>()
  /** What may be being loaded, for each app. */
  readonly #loading: readonly Set<string>[]
  #requests = 0

  constructor(apps: readonly Running[]) {
    super(apps.map(({ port }) => port))
    this.#apps = apps
    this.#loading = apps.map(() => new Set())
    for (const [index, { server, cache }] of apps.entries()) {
      server.on('request', () => void this.#requests++)
      for (const name of ['miss', 'hit', 'stale', 'fill', 'failure', 'load', 'wait', 'queued'] as const)
        cache.on(name, () => void this.#heard.set(name, this.heard(name) + 1))
      for (const name of ['miss', 'stale', 'load', 'refreshAhead'] as const)
        cache.on(name, ({ key }) => void this.#loading[index]?.add(key))
    }
  }

  get caches(): readonly Cache[] {
    return this.#apps.map(({ cache }) => cache)
  }

  /** The number of requests that have come. */
  get requests(): number {
    return this.#requests
  }

  /** How often an event was heard in all caches. */
  heard(name: keyof CacheEvents): number {
    return this.#heard.get(name) ?? 0
  }

  /** Resolves when so many requests in all have not found what they asked for, and one app loads it and the others wait. */
  async missed(count: number): Promise<void> {
    await until(`${count} requests have missed`, () => this.heard('miss') >= count, 60_000)
    await until('all but one app wait', () => this.heard('wait') >= this.#apps.length - 1, 60_000)
  }

  /** Resolves when what was loaded has been written as often as this in all. */
  async filled(count: number): Promise<void> {
    await until(`${count} loads have been written`, () => this.heard('fill') >= count, 60_000)
  }

  /** Resolves when nothing is being loaded: what has been answered is stored, if it is to be. */
  async stored(): Promise<void> {
    // Each key by itself: to find the leases of a namespace, all keys of the Redis that all tests share would be scanned.
    await until(
      'nothing is being loaded',
      async () => {
        for (const [index, keys] of this.#loading.entries())
          for (const key of keys) {
            const { load, here } = await (this.caches[index] as Cache).explain(key)
            if (load !== null || !['none', 'resting'].includes(here.flight)) return false
            keys.delete(key)
          }
        return true
      },
      60_000,
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      this.#apps.map(async ({ server, cache, client }) => {
        server.closeAllConnections()
        server.close()
        await cache.close({ timeout: 0 })
        client.disconnect()
      }),
    )
  }
}

/** A handler that counts its runs, and answers each with what is its own. */
export function counted(answer: (run: number, req: Request, res: Response) => unknown): {
  handler: (req: Request, res: Response) => void
  readonly runs: number
} {
  const all = { runs: 0, handler: (req: Request, res: Response) => void answer(++all.runs, req, res) }
  return all
}

/** The path of a file that lasts as long as its test. */
export async function fileOf(content: string | Buffer, name = 'page.html'): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'herdless-file-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, name)
  await writeFile(file, content)
  return file
}

/** What somebody waits for until somebody else opens it. */
export class Gate {
  readonly opened: Promise<void>
  open!: () => void

  constructor() {
    this.opened = new Promise((resolve) => (this.open = resolve))
  }
}
