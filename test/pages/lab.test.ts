import { request } from 'node:http'
import { Redis } from 'ioredis'
import type { Browser, BrowserContextOptions, Page, Response } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { stopChildren } from '../../examples/stampede-lab/children.mjs'
import { startLive } from '../../examples/stampede-lab/live/live.mjs'
import { provisionChromium } from '../../tools/servers/provision-chromium.mjs'
import { findingsOf, launchBrowser } from './browser.ts'
import { bottomsOf, framesThatDraw, smallTargets, watchPage } from './in-page.ts'
import { missing } from '../support/provided.ts'

type Side = 'without' | 'with'

const reason = await missing(provisionChromium)
const patient = { timeout: 20_000, interval: 50 }

describe.skipIf(reason !== undefined)(`the page of the lab${reason ? ` (${reason})` : ''}`, () => {
  let live: Awaited<ReturnType<typeof startLive>>
  let browser: Browser
  let page: Page
  let redis: Redis
  let complaints: string[]

  beforeAll(async () => {
    live = await startLive({ isGuided: false })
    redis = new Redis(live.redisUrl, { retryStrategy: () => 50 })
    redis.on('error', () => {})
    browser = await launchBrowser()
  })

  afterAll(async () => {
    await browser?.close()
    redis?.disconnect()
    stopChildren()
    await live?.stop()
  })

  beforeEach(async () => {
    complaints = []
    page = await open({ viewport: { width: 1280, height: 900 } })
  })

  afterEach(async () => {
    // Where a test has failed, the next ones are to find all well again.
    await press('redisUp', '')
    await press('slow', 'off')
    await press('failing', 'off')
    await press('way', 'nothing')
    await page.close()
    if (complaints.length > 0) throw new Error(`The console of the page says: ${complaints.join('; ')}`)
  })

  async function open(options: BrowserContextOptions, query = ''): Promise<Page> {
    const opened = await browser.newPage({ locale: 'en-GB', ...options })
    await opened.addInitScript(watchPage)
    opened.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
    })
    opened.on('pageerror', (error) => complaints.push(error.message))
    await opened.goto(live.url + query)
    await opened.locator('#link.live').waitFor()
    await opened.locator('body.ready').waitFor()
    return opened
  }

  /** Acts as the page does, without the page. */
  async function press(action: string, value: string): Promise<void> {
    const headers = { 'x-herdless-lab': '1' }
    await fetch(`${live.url}actions/${action}?value=${value}`, { method: 'POST', headers })
  }

  const click = (name: string): Promise<void> => page.getByRole('button', { name, exact: true }).click()
  const said = (): Promise<string | null> => page.locator('#said').textContent()
  const now = (side: Side): Promise<string | null> => page.locator(`#${side} .now`).textContent()
  const since = (text: string): Promise<void> => page.locator('#with .since', { hasText: text }).waitFor()

  const answers = ['answered', 'errors', 'outdated'] as const

  /** A figure of a side since the last event. */
  async function figure(side: Side, name: 'queries' | (typeof answers)[number]): Promise<number> {
    const isAnswer = name !== 'queries'
    const places = page.locator(`#${side} ${isAnswer ? '.answers span' : '.queries'}`)
    const text = await places.nth(isAnswer ? answers.indexOf(name) : 0).textContent()
    return Number(text?.replaceAll(/\D/g, ''))
  }

  /** The other big figure. */
  const felt = async (side: Side): Promise<number> => count((await page.locator(`#${side} .felt`).textContent()) ?? '')

  /** Lets all keys be in Redis on both sides, and all counts begin. */
  async function settle(way = 'nothing'): Promise<void> {
    await press('way', way)
    await since('the counts began anew')
  }

  test('moves, with the same load on both sides', async () => {
    await settle()
    await expect.poll(() => figure('with', 'answered'), patient).toBeGreaterThan(100)
    const [without, withIt] = await Promise.all([figure('without', 'answered'), figure('with', 'answered')])
    expect(Math.abs(without - withIt)).toBeLessThan(100)
    expect(await page.locator('canvas').count()).toBe(2)
    const drawn = page.evaluate(framesThatDraw, 3)
    expect(await drawn).toBeGreaterThan(0)
  })

  test('"Expire the keys" costs one query for each key with herdless, and a herd without it', async () => {
    await press('slow', 'on')
    await settle()
    await click('Expire the keys')
    await since('all keys expired')
    await expect.poll(() => now('with'), patient).toMatch(/holds? \d leases?: one query per key/)
    expect(await redis.keys('*:lease')).not.toEqual([])
    expect(await now('without')).toContain('No request knows of another')
    await expect.poll(() => now('without'), patient).toBe('All requests are answered from Redis.')
    expect(await figure('with', 'queries'), 'a load of each of the three keys').toBe(3)
    expect(await figure('without', 'queries'), 'a herd').toBeGreaterThan(30)
    const tape = page.locator('#tape')
    await expect.poll(() => tape.textContent(), patient).toMatch(/Left: \d+ queries, .* · Right: 3 queries/)
    expect(await tape.textContent()).toMatch(/Right: the lease of \w+ is renewed, \d+ times/)
    expect(await tape.textContent()).toMatch(/Left: \w+ is loaded \d+ times/)
  })

  test('a slow source makes the lock of the tutorial load more than once', async () => {
    await click('Slow')
    await expect.poll(said, patient).toContain('A load takes 1.5 s longer now.')
    await expect.poll(() => page.locator('[data-toggle="slow"]').getAttribute('aria-pressed'), patient).toBe('true')
    await page.getByText('tutorial lock').click()
    await since('the counts began anew')
    await page.locator('#without .keeps', { hasText: 'values, locks' }).waitFor()
    await click('Expire the keys')
    await expect.poll(() => now('without'), patient).toContain('The lock expired under its holder')
    expect(await figure('without', 'queries')).toBeGreaterThan(3)
  })

  test('"in-process" leaves a query for each process', async () => {
    await page.getByText('in-process').click()
    await expect.poll(said, patient).toBe('Left side: in-process. All counts begin anew.')
    await press('slow', 'on')
    await press('expire', '')
    await expect.poll(() => figure('without', 'queries'), patient).toBeGreaterThanOrEqual(12)
  })

  test('with herdless on the left, too, that side says so', async () => {
    await page.locator('#without-title', { hasText: 'Without herdless' }).waitFor()
    await press('slow', 'on')
    await settle('herdless')
    await page.locator('#without.good h2', { hasText: 'With herdless, too' }).waitFor()
    await click('Expire the keys')
    await since('all keys expired')
    await expect.poll(() => now('without'), patient).toMatch(/holds? \d leases?: one query per key/)
  })

  test('a failing source shows errors on both sides, and few queries with herdless', async () => {
    await settle()
    await click('Failing')
    await expect.poll(said, patient).toBe('Each query fails now, and all keys have expired.')
    for (const side of ['without', 'with'] as const) {
      await expect.poll(() => figure(side, 'errors'), patient).toBeGreaterThan(0)
      expect(await now(side)).toContain('The source fails.')
    }
    await page.locator('#with .felt-name', { hasText: 'requests ended in an error' }).waitFor()
    expect(await page.locator('#with .felt.bad').count()).toBe(1)
  })

  test('a change in mid-load leaves old data on the left, and none on the right', async () => {
    await settle()
    await click('Change one in mid-load')
    await expect.poll(said, patient).toContain('was changed and invalidated')
    await page.locator('#without .felt-name', { hasText: 'answers were outdated' }).waitFor()
    await expect.poll(() => now('without'), patient).toContain('The old state was stored')
    expect(await figure('without', 'outdated')).toBeGreaterThan(0)
    expect(await figure('with', 'outdated')).toBe(0)
  })

  test('"Flush" empties Redis', async () => {
    await settle()
    expect(await redis.exists('{lab-with:prices}')).toBe(1)
    await press('slow', 'on')
    await click('Flush')
    await since('Redis was emptied')
    await expect.poll(() => figure('with', 'queries'), patient).toBe(3)
  })

  test.for(['nothing', 'herdless'])(
    '"Flush, 1,000 keys" is a herd with %s on the left, and keeps to the limit on the right',
    async (way) => {
      await settle(way)
      await press('slow', 'on')
      // What is said during the herd does not stay.
      const during = { without: 'Nothing limits the source', with: 'a limit of 20 loads at a time' }
      await Promise.all([
        ...Object.entries(during).map(([side, hasText]) => page.locator(`#${side} .now`, { hasText }).waitFor()),
        click('Flush, 1,000 keys'),
      ])
      await since('1,000 keys were asked for')
      expect(await said()).toContain('1,000 keys are asked for at once, each by one caller.')
      for (const side of ['without', 'with'] as const) {
        await page.locator(`#${side} .felt-name`, { hasText: 'loads at a time, at most' }).waitFor()
        await expect.poll(() => now(side), { timeout: 60_000 }).toBe('All requests are answered from Redis.')
      }
      expect(await felt('with')).toBeGreaterThan(0)
      expect(await felt('with'), 'the limit').toBeLessThanOrEqual(20)
      expect(await felt('without'), 'a herd').toBeGreaterThan(100)
      expect(await figure('without', 'queries')).toBeGreaterThanOrEqual(1_000)
      await expect
        .poll(() => page.locator('#tape').textContent(), patient)
        .toMatch(/Right: [\d,]+ queries, \d+ at a time/)
    },
  )

  test('"Kill it in mid-load" is outlived: another process loads, and a new one starts', async () => {
    await settle()
    await click('Kill it in mid-load')
    await expect.poll(said, patient).toContain('Killed in mid-load: shop-')
    await page.locator('#with .process.gone', { hasText: 'was killed' }).first().waitFor()
    await expect.poll(() => page.locator('#with .process.gone').count(), { timeout: 60_000 }).toBe(0)
    await expect.poll(() => redis.exists('{lab-with:prices}'), patient).toBe(1)
  })

  test('"Pause it" is outlived, too', async () => {
    await settle()
    await click('Pause it')
    await expect.poll(said, patient).toContain('Paused in mid-load for 3 s: shop-')
    await page.locator('#with .process.gone', { hasText: 'is paused' }).first().waitFor()
    await expect.poll(() => page.locator('#with .process.gone').count(), patient).toBe(0)
  })

  test('while Redis is down, the left side has errors, and herdless none; each says why', async () => {
    await settle()
    await click('Down')
    await expect.poll(said, patient).toBe('Redis is down.')
    await expect.poll(() => redis.status, patient).not.toBe('ready')
    expect(await page.getByRole('button', { name: 'Expire the keys' }).isDisabled()).toBe(true)
    await expect.poll(() => now('without'), patient).toContain('nobody asks the database')
    expect(await now('with')).toContain('each process loads for itself')
    await expect.poll(() => figure('without', 'errors'), patient).toBeGreaterThan(0)
    await expect.poll(() => figure('with', 'answered'), patient).toBeGreaterThan(100)
    expect(await figure('with', 'errors')).toBe(0)
    await click('Down')
    await expect.poll(said, patient).toBe('Redis is back, and empty.')
    await expect.poll(() => redis.exists('{lab-with:prices}').catch(() => 0), patient).toBe(1)
  })

  test('an action that fails says so', async () => {
    await press('redisDown', '')
    await press('expire', '')
    await expect.poll(said, patient).toBe('That did not work: Redis is down.')
  })

  test('the tour begins with the slow source, and ends when a viewer acts', async () => {
    await click('Start the tour')
    await page.getByRole('heading', { name: 'Hot keys expire while the source is slow' }).waitFor()
    await page.getByRole('button', { name: 'Stop the tour' }).waitFor()
    await click('Expire the keys')
    await page.getByRole('button', { name: 'Start the tour' }).waitFor()
    await expect.poll(said, patient).toBe('All keys have expired.')
  })

  test('nothing moves during the tour, whose end has the figures of each act and the line of code', async () => {
    await click('Start the tour')
    const closing = page.locator('#closing')
    await closing.waitFor({ timeout: 170_000 })
    const rows = await closing.locator('tbody tr').allTextContents()
    expect(rows.map((text) => text.replaceAll(/[\d,]+$/g, ''))).toEqual([
      'Keys expire, the source is slow: queries',
      'The same, with a promise in each process: queries',
      'The same, with the tutorial lock: queries',
      'The loading process is killed: queries',
      'Data changes during a load: outdated answers',
      'Redis is down: requests with an error',
    ])
    const [first, , , , outdated, errors] = await closing.locator('tbody tr').all()
    for (const row of [first, outdated, errors]) {
      const [without, withIt] = (await row?.locator('td').allTextContents()) ?? []
      expect(count(without)).toBeGreaterThan(count(withIt))
    }
    expect(await closing.textContent()).toContain('await cache.getOrLoad(')
    expect(await page.evaluate('shifts')).toEqual([])
    expect(await findingsOf(page)).toEqual([])
    await click('Try it yourself')
    await closing.waitFor({ state: 'hidden' })
  })

  test.for([
    ['a desktop', 1440, 900, 'light'],
    ['a desktop', 1280, 720, 'dark'],
    ['a phone', 390, 844, 'light'],
    ['a phone', 390, 844, 'dark'],
  ] as const)(
    'has no findings of axe and no sideways scroll on %s of %i × %i in %s',
    async ([, width, height, colorScheme]) => {
      await page.setViewportSize({ width, height })
      await page.emulateMedia({ colorScheme })
      await press('slow', 'on')
      await click('Expire the keys')
      await page.locator('#with .process.loads').first().waitFor()
      expect(await findingsOf(page)).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
    },
  )

  test('the stage and all that one may press are in the first screen of a small desktop', async () => {
    await page.setViewportSize({ width: 1280, height: 720 })
    const bottoms = await page.evaluate(bottomsOf, '.stage, .controls, .controls button')
    expect(Math.max(...bottoms)).toBeLessThanOrEqual(720)
    const [left, right] = await Promise.all(
      ['#without', '#with'].map((side) => page.evaluate(bottomsOf, `${side} :is(.head, .figures, .scene, .chart)`)),
    )
    expect(left).toEqual(right)
  })

  test('what one touches on a phone is 44 pixels high and wide at least', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    expect(await page.evaluate(smallTargets, 44)).toEqual([])
  })

  test('speaks Chinese if it is asked to, or if the browser does', async () => {
    const asked = await open({}, '?lang=zh')
    const heard = await open({ locale: 'zh-CN' })
    for (const each of [asked, heard]) {
      await each.getByRole('heading', { name: '缓存击穿实验室' }).waitFor()
      expect(await each.evaluate('document.documentElement.lang')).toBe('zh-CN')
      // What is written with letters is a name.
      const words = (await each.locator('main').innerText()).match(/[A-Za-z][\w.-]+/g)
      const names = /^(?:herdless|Redis|cache\.getOrLoad|key|loader|shop-\d|ms)$/
      expect(words?.filter((word) => !names.test(word))).toEqual([])
      await each.close()
    }
    const english = await open({ locale: 'zh-CN' }, '?lang=en')
    await english.getByRole('heading', { name: 'The stampede lab' }).waitFor()
    await english.close()
  })

  test('draws only what has changed for a viewer who wants no motion', async () => {
    const calm = await open({ reducedMotion: 'reduce' })
    await calm.evaluate('streams[0].close()')
    expect(await calm.evaluate(framesThatDraw, 5)).toBe(0)
    await calm.close()
  })

  test('nothing can be pressed when the lab has ended', async () => {
    const left = await open({})
    await left.evaluate('streams[0].close(), streams[0].dispatchEvent(new Event("error"))')
    await left.getByText('The lab has ended').waitFor()
    expect(await left.locator('button:enabled, input:enabled').count()).toBe(0)
    await left.close()
  })

  test('can be worked with the keyboard', async () => {
    await page.locator('input[name="way"]:checked').focus()
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Expire the keys')
    await page.keyboard.press('Enter')
    await expect.poll(said, patient).toBe('All keys have expired.')
  })

  test('weighs less than 250 kB, and asks no other machine for anything', async () => {
    const bodies: Promise<Buffer>[] = []
    const hosts = new Set<string>()
    const fresh = await browser.newPage()
    const heard = (response: Response): void => {
      hosts.add(new URL(response.url()).host)
      if (!response.url().endsWith('/events')) bodies.push(response.body())
    }
    fresh.on('response', heard)
    await fresh.goto(live.url, { waitUntil: 'load' })
    // What comes later may have no body any more when the page is closed.
    fresh.off('response', heard)
    const sizes = (await Promise.all(bodies)).map(({ length }) => length)
    await fresh.close()
    expect([...hosts]).toEqual([new URL(live.url).host])
    const sum = sizes.reduce((total, size) => total + size, 0)
    expect(sum).toBeGreaterThan(20_000)
    expect(sum).toBeLessThan(250_000)
  })

  test('a page of another site can neither act nor read', async () => {
    const without = await fetch(`${live.url}actions/flush`, { method: 'POST' })
    expect(without.status).toBe(403)
    const { port } = new URL(live.url)
    const status = await new Promise((resolve, reject) => {
      const asked = request(
        { host: '127.0.0.1', port, path: '/', headers: { host: 'rebound.example' } },
        (response) => {
          response.resume()
          resolve(response.statusCode)
        },
      )
      asked.on('error', reject).end()
    })
    expect(status).toBe(421)
  })
})

function count(text = ''): number {
  return Number(text.replaceAll(/\D/g, ''))
}
