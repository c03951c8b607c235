import { randomUUID } from 'node:crypto'
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { command } from '../../tools/command.mjs'
import { unpackInto } from '../../tools/pack.mjs'
import type { RedisServer } from '../support/redis-server.ts'
import { AppProcess } from './app-process.ts'
import { CountingSource } from './counting-source.ts'
import { apps } from './given-package.ts'

const folder = join(apps, 'next')

/** A build of the app: the major of Next, the handler, and which of the two models of Next its pages have. */
export interface Build {
  readonly major: 15 | 16
  readonly handler: 'herdless' | 'fortedigital'
  readonly mode: 'use-cache' | 'isr'
}

/** Gives the app and the packed package to a major of Next. */
export async function prepare(major: Build['major']): Promise<void> {
  const home = join(folder, `on${major}`)
  await unpackInto(home)
  await rm(join(home, 'src'), { recursive: true, force: true })
  await cp(join(folder, 'app'), join(home, 'src'), { recursive: true })
}

const built = new Map<string, Promise<void>>()

/** Runs `next build`, with no Redis, once for a build. */
export async function build(of: Build): Promise<void> {
  const name = Object.values(of).join('-')
  const building = built.get(name) ?? runBuild(of)
  built.set(name, building)
  await building
}

async function runBuild(of: Build): Promise<void> {
  const home = join(folder, `on${of.major}`)
  const env = { ...envOf(of), NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1', REDIS_URL: 'redis://127.0.0.1:1' }
  const next = join(home, 'node_modules/next/dist/bin/next')
  await command(process.execPath, [next, 'build', join(home, 'src')], { cwd: home, env })
}

function envOf({ handler, mode }: Build): Record<string, string> {
  return { HANDLER: handler, MODE: mode }
}

/** Three processes of `next start` on one Redis, and the source that their pages show. */
export class NextFleet {
  readonly source: CountingSource
  readonly processes: readonly AppProcess[]
  readonly #mode: string

  private constructor(source: CountingSource, processes: readonly AppProcess[], mode: string) {
    this.source = source
    this.processes = processes
    this.#mode = mode
  }

  static async start(of: Build, redis: RedisServer): Promise<NextFleet> {
    const source = new CountingSource()
    const env = { ...envOf(of), REDIS_URL: redis.url, NAMESPACE: randomUUID(), SOURCE_URL: await source.url() }
    const start = (): Promise<AppProcess> => AppProcess.start(`next/on${of.major}/src/start.mjs`, env)
    return new NextFleet(source, await Promise.all([start(), start(), start()]), of.mode)
  }

  /** The page of a name, as a process shows it: `200 a#1`, or `no answer` if there is none within a minute. */
  async page({ port }: AppProcess, name: string): Promise<string> {
    try {
      const url = `http://127.0.0.1:${port}/${this.#mode}/${name}`
      const response = await fetch(url, { signal: AbortSignal.timeout(60_000) })
      return `${response.status} ${shownIn(await response.text())}`
    } catch {
      return 'no answer'
    }
  }

  /** What all processes show of a page, to several who ask at once. */
  async all(name: string, many: number): Promise<string[]> {
    const asking = this.processes.flatMap((each) => Array.from({ length: many }, () => this.page(each, name)))
    return await Promise.all(asking)
  }

  /** What they show, without its repetitions. */
  async shown(name: string, many = 3): Promise<Set<string>> {
    return new Set(await this.all(name, many))
  }

  /** Calls `revalidatePath` for a page, or `revalidateTag`. */
  async revalidate(what: { page: string } | { tag: string; expire?: number }): Promise<void> {
    const told = 'page' in what ? { path: `/${this.#mode}/${what.page}` } : what
    const url = `http://127.0.0.1:${this.processes[0]?.port}/revalidate`
    const { status } = await fetch(url, { method: 'POST', body: JSON.stringify(told) })
    if (status !== 200) throw new Error(`A revalidation was answered with ${status}`)
  }

  async stop(): Promise<void> {
    await Promise.all(this.processes.map((each) => each.stop()))
    this.source.close()
  }
}

/** The text of the source in that of a page: `a#1`. */
export function shownIn(page: string): string | undefined {
  return /\w+#\d+/.exec(page)?.[0]
}
