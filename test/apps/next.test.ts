import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { startRedis, type RedisServer } from '../support/redis-server.ts'
import type { AppProcess } from './app-process.ts'
import { keeps, type Door } from './doors.ts'
import { figuresOf, figuresOfPage, writeFigures } from './next-figures.ts'
import { build, NextFleet, prepare, shownIn, type Build } from './next-fleet.ts'

let redis: RedisServer
let fleet: NextFleet

beforeAll(async () => {
  await prepare(15)
  await prepare(16)
  redis = await startRedis()
}, 300_000)
afterAll(async () => redis?.stop())

const builds: Build[] = [
  { major: 15, handler: 'herdless', mode: 'isr' },
  { major: 16, handler: 'herdless', mode: 'isr' },
  { major: 16, handler: 'herdless', mode: 'use-cache' },
]

const doorOf = ({ major, mode }: Build): Door => {
  if (mode === 'use-cache') return 'Next 16: use cache'
  return major === 15 ? 'Next 15: ISR' : 'Next 16: ISR'
}

describe.each(builds)('three processes of Next $major, $mode', (of) => {
  beforeAll(async () => build(of), 600_000)
  beforeEach(async () => (fleet = await NextFleet.start(of, redis)), 120_000)
  afterEach(async () => fleet.stop())

  /** Waits until all processes show it, and then they all do. */
  async function served(what: string): Promise<void> {
    const isAll = (all: Set<string>): boolean => all.size === 1 && all.has(`200 ${what}`)
    await until(`${what} is served`, async () => isAll(await fleet.shown('a', 1)), 20_000)
    expect(await fleet.shown('a')).toEqual(new Set([`200 ${what}`]))
  }

  test('render an entry once: cold, stale, and after a revalidation', async () => {
    const { source } = fleet
    expect(await fleet.shown('a')).toEqual(new Set(['200 a#1']))
    expect(source.asked).toEqual(new Map([['a', 1]]))
    // It is stale after five seconds: then it is served on while one renders.
    const release = source.hold()
    const rendersAnew = async (): Promise<boolean> => {
      expect(await fleet.shown('a')).toEqual(new Set(['200 a#1']))
      return source.asked.get('a') === 2
    }
    await until('one renders', rendersAnew, 30_000)
    expect(await fleet.shown('a')).toEqual(new Set(['200 a#1']))
    release()
    await served('a#2')
    // Next answers a route before its revalidation has been carried out.
    await fleet.revalidate({ page: 'a' })
    await served('a#3')
    await fleet.revalidate({ tag: 'a', expire: 0 })
    await served('a#4')
    // Softly, in Next 16: the old one is served while one renders.
    await fleet.revalidate({ tag: 'a' })
    await served('a#5')
    expect(source.asked.get('a')).toBe(5)
    for (const promise of ['cold', 'stale', 'invalidated'] as const) keeps(doorOf(of), promise)
  }, 120_000)

  // The form is a page of `use cache`: `updateTag` is made for it.
  test.runIf(of.mode === 'use-cache')(
    'show what was changed by an action at once, to the one who did it and to all',
    async () => {
      const [one] = fleet.processes as [AppProcess]
      expect(await fleet.shown('a')).toEqual(new Set(['200 a#1']))
      expect(await submitted(one, 'a', { leaves: 'yes' })).toBe('200 a#2')
      expect(await fleet.shown('a')).toEqual(new Set(['200 a#2']))
      expect(fleet.source.asked).toEqual(new Map([['a', 2]]))
      // Without a redirect, the action renders the page itself, and Next updates the tag before and after it.
      expect(await submitted(one, 'a')).toBe('200 a#3')
      expect(await fleet.shown('a')).not.toContain('200 a#2')
      await served('a#4')
      expect(fleet.source.asked).toEqual(new Map([['a', 4]]))
    },
    120_000,
  )

  test('lose the one that renders: another renders, and all are answered', async () => {
    const [victim, ...others] = fleet.processes as [AppProcess, AppProcess, AppProcess]
    const release = fleet.source.hold()
    const gone = fleet.page(victim, 'b')
    await until('one renders', async () => fleet.source.asked.get('b') === 1)
    const waiting = others.map((each) => fleet.page(each, 'b'))
    await victim.stop()
    expect(await gone).toBe('no answer')
    release()
    expect(await Promise.all(waiting)).toEqual(['200 b#2', '200 b#2'])
    expect(fleet.source.asked.get('b')).toBe(2)
    keeps(doorOf(of), 'killed')
  }, 120_000)

  test('answer every page while Redis is frozen, and render one each', async () => {
    expect(await fleet.shown('c')).toEqual(new Set(['200 c#1']))
    await redis.freeze()
    try {
      const answers = await fleet.shown('d')
      expect([...answers].every((answer) => answer.startsWith('200 d#'))).toBe(true)
      expect(fleet.source.asked.get('d')).toBeLessThanOrEqual(3)
    } finally {
      redis.thaw()
    }
    keeps(doorOf(of), 'frozen')
  }, 120_000)
})

describe('beside @fortedigital/nextjs-cache-handler', () => {
  const ours = { major: 16, handler: 'herdless', mode: 'isr' } as const
  const theirs = { ...ours, handler: 'fortedigital' } as const
  beforeAll(async () => {
    await build(ours)
    await build(theirs)
  }, 900_000)

  // WRITE=yes writes the figures of both into the page; else those of herdless must be the ones that are there.
  test('the same processes and requests render as often as the page about Next says', async () => {
    const figures = await figuresOf(ours, redis)
    const renders = { cold: 1, stale: 1, tag: 1, softTag: 1, killed: 2, frozen: 3 }
    expect(figures).toEqual({ ...renders, overtaken: 'new', failed: 0, failedFrozen: 0 })
    const others = await figuresOf(theirs, redis)
    if (process.env['WRITE'] === 'yes') await writeFigures(figures, others)
    const texts = Object.entries(figures).map(([name, figure]) => [name, String(figure)])
    expect(await figuresOfPage()).toEqual(Object.fromEntries(texts))
  }, 900_000)
})

/** What a browser without JavaScript shows after it has sent the form of a page. */
async function submitted(of: AppProcess, name: string, more: Record<string, string> = {}): Promise<string> {
  const url = `http://127.0.0.1:${of.port}/form/${name}`
  const form = new FormData()
  const fields = (await (await fetch(url)).text()).matchAll(/<input type="hidden" name="([^"]+)"(?: value="([^"]*)")?/g)
  for (const [, field = '', value = ''] of fields) form.set(field, value)
  for (const [field, value] of Object.entries(more)) form.set(field, value)
  const response = await fetch(url, { method: 'POST', body: form })
  return `${response.status} ${shownIn(await response.text())}`
}
