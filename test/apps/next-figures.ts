import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { checkout } from '../../tools/command.mjs'
import { until } from '../../tools/until.mjs'
import type { RedisServer } from '../support/redis-server.ts'
import type { AppProcess } from './app-process.ts'
import { NextFleet, type Build } from './next-fleet.ts'

/** How often a page was rendered in each case, or what was shown of it. */
export interface Figures {
  readonly cold: number
  readonly stale: number
  readonly tag: number
  readonly softTag: number
  readonly killed: number
  /** What is shown of a page whose tag was revalidated while it was rendered. */
  readonly overtaken: 'old' | 'new'
  /** Requests without a page, in all the cases above. */
  readonly failed: number
  readonly frozen: number
  readonly failedFrozen: number
}

const words: Record<keyof Figures, string> = {
  cold: 'renders of a page that nobody has rendered',
  stale: 'renders of a stale page',
  tag: 'renders after `revalidateTag(tag, { expire: 0 })`',
  softTag: "renders after `revalidateTag(tag, 'max')`",
  killed: 'renders of a page whose first renderer is killed',
  overtaken: 'the page that is shown after its tag was revalidated during its rendering',
  failed: 'requests without a page, in all cases above',
  frozen: 'renders of a page while Redis is frozen',
  failedFrozen: 'requests without a page for a minute then, of 30',
}

/** How many ask each process at the same time. */
const many = 10
/** How long the source takes, and what is told to a process takes at most, in milliseconds. */
const moment = 1_000

/** What three processes make of the same cases, whatever their handler is. */
export async function figuresOf(of: Build, redis: RedisServer): Promise<Figures> {
  let failed = 0
  const pages = (answers: string[]): string[] => {
    failed += answers.filter((answer) => !answer.startsWith('200 ')).length
    return answers
  }

  /** How often the page is rendered when all ask for it. */
  async function renders(fleet: NextFleet, name: string): Promise<number> {
    const { asked } = fleet.source
    const before = asked.get(name) ?? 0
    const release = fleet.source.hold()
    const answers = fleet.all(name, many)
    const isRendered = until('a page is rendered', () => (asked.get(name) ?? 0) > before, 60_000)
    await Promise.race([isRendered.catch(() => undefined), answers])
    await pause(moment)
    release()
    pages(await answers)
    // A stale page is rendered behind its answers.
    await pause(moment)
    return (asked.get(name) ?? 0) - before
  }

  async function inFleet<T>(use: (fleet: NextFleet) => Promise<T>): Promise<T> {
    const fleet = await NextFleet.start(of, redis)
    try {
      return await use(fleet)
    } finally {
      await fleet.stop()
    }
  }

  const lived = await inFleet(async (fleet) => {
    const cold = await renders(fleet, 'a')
    // Its `revalidate` is five seconds.
    await pause(5_000 - moment)
    const stale = await renders(fleet, 'a')
    await fleet.revalidate({ tag: 'a', expire: 0 })
    await pause(moment)
    const tag = await renders(fleet, 'a')
    await fleet.revalidate({ tag: 'a' })
    await pause(moment)
    const softTag = await renders(fleet, 'a')
    return { cold, stale, tag, softTag }
  })

  const overtaken = await inFleet(async (fleet) => {
    const [one] = fleet.processes as [AppProcess]
    const release = fleet.source.hold()
    const answer = fleet.page(one, 'e')
    await until('it is rendered', () => fleet.source.asked.has('e'))
    await fleet.revalidate({ tag: 'e', expire: 0 })
    await pause(moment)
    release()
    pages([await answer])
    await pause(moment)
    return pages(await fleet.all('e', 1)).some((page) => page.endsWith('e#1')) ? 'old' : 'new'
  })

  const killed = await inFleet(async (fleet) => {
    const [victim, ...others] = fleet.processes as [AppProcess, AppProcess, AppProcess]
    const release = fleet.source.hold()
    const gone = fleet.page(victim, 'b')
    await until('one renders', () => fleet.source.asked.has('b'))
    const waiting = others.flatMap((each) => Array.from({ length: many }, () => fleet.page(each, 'b')))
    await pause(moment)
    await victim.stop()
    await gone
    release()
    pages(await Promise.all(waiting))
    return fleet.source.asked.get('b') ?? 0
  })

  const before = failed
  const frozen = await inFleet(async (fleet) => {
    pages(await fleet.all('c', 1))
    await redis.freeze()
    try {
      return await renders(fleet, 'd')
    } finally {
      redis.thaw()
    }
  })
  return { ...lived, killed, overtaken, failed: before, frozen, failedFrozen: failed - before }
}

const page = join(checkout, 'docs/next.md')
const [begin, end] = ['<!-- figures:begin -->', '<!-- figures:end -->']

/** Writes the figures into the page about Next. */
export async function writeFigures(ours: Figures, theirs: Figures): Promise<void> {
  const cases = Object.entries(words) as [keyof Figures, string][]
  const lines = [
    '| | herdless | @fortedigital/nextjs-cache-handler |',
    '|---|---|---|',
    ...cases.map(([name, text]) => `| ${text} | ${ours[name]} | ${theirs[name]} |`),
  ]
  const [before, , after] = await parts()
  await writeFile(page, `${before}${begin}\n${lines.join('\n')}\n${end}${after}`)
}

/** The figures of herdless on that page, as texts. */
export async function figuresOfPage(): Promise<Record<string, string>> {
  const [, table] = await parts()
  const rows = new Map(table.split('\n').map((line) => line.split(' | ') as [string, string]))
  return Object.fromEntries(Object.entries(words).map(([name, text]) => [name, rows.get(`| ${text}`) ?? 'missing']))
}

async function parts(): Promise<[string, string, string]> {
  const text = await readFile(page, 'utf8')
  const [before = '', rest = ''] = text.split(begin)
  const [table = '', after = ''] = rest.split(end)
  return [before, table, after]
}
