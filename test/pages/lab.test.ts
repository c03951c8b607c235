import { request } from 'node:http'
import { Redis } from 'ioredis'
import type { Browser, Page, Response } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { stopChildren } from '../../examples/stampede-lab/children.mjs'
import { startLive } from '../../examples/stampede-lab/live/live.mjs'
import { provisionChromium } from '../../tools/servers/provision-chromium.mjs'
import { findingsOf, launchBrowser } from './browser.ts'
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
    page = await open({ width: 1280, height: 900 })
  })

  afterEach(async () => {
    // Where a test has failed while Redis was down, the next ones are to find it again.
    if (await page.getByRole('button', { name: 'Redis back' }).isEnabled()) await press('redisUp', '')
    await press('way', 'nothing')
    await press('slow', 'off')
    await press('failing', 'off')
    await page.close()
    if (complaints.length > 0) throw new Error(`The console of the page says: ${complaints.join('; ')}`)
  })

  async function open(viewport: { width: number; height: number }): Promise<Page> {
    const opened = await browser.newPage({ viewport })
    opened.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
    })
    opened.on('pageerror', (error) => complaints.push(error.message))
    await opened.goto(live.url)
    await opened.locator('#link.live').waitFor()
    await opened.locator('#with .process').nth(3).waitFor()
    return opened
  }

  /** Acts as the page does, without the page. */
  async function press(action: string, value: string): Promise<void> {
    const headers = { 'x-herdless-lab': '1' }
    await fetch(`${live.url}actions/${action}?value=${value}`, { method: 'POST', headers })
  }

  const click = (name: string): Promise<void> => page.getByRole('button', { name, exact: true }).click()
  const said = (): Promise<string | null> => page.locator('#said').textContent()

  async function figure(side: Side, name: string): Promise<number> {
    const text = await page.locator(`#${side} .${name}`).textContent()
    return Number(text?.replaceAll(/[^\d.]/g, ''))
  }

  /** Lets all keys be in Redis on both sides, and both counts begin. */
  async function settle(): Promise<void> {
    await press('way', 'nothing')
    await expect.poll(() => figure('with', 'requests'), patient).toBeGreaterThan(100)
    await idle()
  }

  /** Waits until no key is being loaded. */
  async function idle(): Promise<void> {
    for (const side of ['with', 'without'] as const) {
      await expect.poll(() => page.locator(`#${side} .process.leads`).count(), patient).toBe(0)
    }
  }

  test('moves, with the same load on both sides', async () => {
    await expect.poll(() => figure('with', 'requests'), patient).toBeGreaterThan(100)
    const [without, withIt] = await Promise.all([figure('without', 'requests'), figure('with', 'requests')])
    expect(Math.abs(without - withIt)).toBeLessThan(100)
    expect(await page.locator('canvas').count()).toBe(2)
  })

  test('"Expire the keys" costs one query for each key with herdless, and a herd without it', async () => {
    await press('slow', 'on')
    await settle()
    // After a round of loads, no value expires by itself for the next eight seconds.
    const round = async (): Promise<void> => {
      const before = await figure('with', 'queries')
      await click('Expire the keys')
      await page.locator('#with .process.leads').first().waitFor()
      await page.locator('#with .waits', { hasText: 'waiting' }).first().waitFor()
      expect(await redis.keys('*:lease')).not.toEqual([])
      // On a busy machine, all may be idle before the third key is asked for.
      const loads = async (): Promise<number> => (await figure('with', 'queries')) - before
      await expect.poll(loads, patient).toBeGreaterThanOrEqual(3)
      await idle()
    }
    await round()
    const [withIt, without] = [await figure('with', 'queries'), await figure('without', 'queries')]
    await round()
    expect((await figure('with', 'queries')) - withIt, 'a load of each of the three keys').toBe(3)
    expect((await figure('without', 'queries')) - without, 'a herd').toBeGreaterThan(30)
    await expect.poll(() => page.locator('#tape').textContent(), patient).toContain('Lease renewed')
  })

  test('"Slow source" makes the lock of the tutorial load more than once, and the lease is renewed', async () => {
    await click('Slow source')
    await expect.poll(said, patient).toBe('A load takes 1.5 s longer now.')
    await expect.poll(() => page.locator('[data-toggle="slow"]').getAttribute('aria-pressed'), patient).toBe('true')
    await page.getByText('tutorial lock').click()
    await page.locator('.leases-title', { hasText: 'Locks in Redis' }).waitFor()
    await click('Expire the keys')
    await expect.poll(() => figure('without', 'queries'), patient).toBeGreaterThan(3)
    await expect
      .poll(
        () =>
          page
            .locator('#with .bar i')
            .first()
            .evaluate((bar) => bar.style.transform),
        patient,
      )
      .not.toBe('scaleX(0)')
  })

  test('"in-process" leaves a query for each process', async () => {
    await page.getByText('in-process').click()
    await expect.poll(said, patient).toContain('in-process coalescing')
    await press('slow', 'on')
    await press('expire', '')
    await expect.poll(() => figure('without', 'queries'), patient).toBeGreaterThanOrEqual(12)
  })

  test('"Failing source" shows errors on both sides', async () => {
    await click('Failing source')
    await expect.poll(said, patient).toBe('Each query fails now.')
    await click('Flush')
    for (const side of ['without', 'with'] as const) {
      await expect.poll(() => figure(side, 'errors'), patient).toBeGreaterThan(0)
    }
    expect(await page.locator('#with .errors.bad').count()).toBe(1)
  })

  test('"Invalidate during the load" leaves old data on the left, and none on the right', async () => {
    await settle()
    await click('Invalidate during the load')
    await expect.poll(said, patient).toContain('was changed and invalidated')
    await expect.poll(() => figure('without', 'outdated'), patient).toBeGreaterThan(0)
    await settle()
    expect(await figure('with', 'outdated')).toBe(0)
  })

  test('"Flush" empties Redis', async () => {
    await settle()
    const before = await figure('with', 'queries')
    expect(await redis.exists('{lab-with:prices}')).toBe(1)
    await press('slow', 'on')
    await click('Flush')
    await expect.poll(() => redis.exists('{lab-with:prices}'), patient).toBe(0)
    await expect.poll(() => figure('with', 'queries'), patient).toBeGreaterThanOrEqual(before + 3)
  })

  test('"Kill the leader" is outlived: another process loads, and a new one starts', async () => {
    await settle()
    await click('Kill the leader')
    await expect.poll(said, patient).toContain('Killed in mid-load: shop-')
    await page.locator('#with .process.gone', { hasText: 'starting' }).first().waitFor()
    await expect.poll(() => page.locator('#with .process.gone').count(), { timeout: 60_000 }).toBe(0)
    await expect.poll(() => redis.exists('{lab-with:front-page}'), patient).toBe(1)
  })

  test('"Pause the leader" is outlived, too', async () => {
    await settle()
    await click('Pause the leader')
    await expect.poll(said, patient).toContain('Paused in mid-load for 3 s: shop-')
    await page.locator('#with .process.gone', { hasText: 'paused' }).first().waitFor()
    await expect.poll(() => page.locator('#with .process.gone').count(), patient).toBe(0)
  })

  test('"Redis down" and "Redis back" stop and start the server', async () => {
    await settle()
    const before = await figure('with', 'requests')
    await click('Redis down')
    await expect.poll(said, patient).toBe('Redis is down.')
    await expect.poll(() => redis.status, patient).not.toBe('ready')
    await expect.poll(() => page.getByRole('button', { name: 'Redis down' }).isDisabled(), patient).toBe(true)
    await expect.poll(() => figure('with', 'requests'), patient).toBeGreaterThan(before + 100)
    await click('Redis back')
    await expect.poll(said, patient).toBe('Redis is back, and empty.')
    await expect.poll(() => redis.exists('{lab-with:prices}').catch(() => 0), patient).toBe(1)
  })

  test('the guided minute explains itself, and ends when a viewer acts', async () => {
    await click('Start the guided minute')
    await page.getByText('Guided minute, step 1 of 6').waitFor()
    await expect.poll(() => page.locator('#tour-caption').textContent(), patient).toContain('Four processes')
    await click('Expire the keys')
    await page.getByRole('button', { name: 'Start the guided minute' }).waitFor()
  })

  test('the guided minute ends, and says so, if an action of it fails', async () => {
    await press('redisDown', '')
    await click('Start the guided minute')
    await expect.poll(() => page.locator('#tape').textContent(), patient).toContain('The tour has ended')
    await page.getByRole('button', { name: 'Start the guided minute' }).waitFor()
    await press('redisUp', '')
  })

  test.for([
    ['a desktop', 1280, 'light'],
    ['a desktop', 1280, 'dark'],
    ['a phone', 390, 'light'],
    ['a phone', 390, 'dark'],
  ] as const)('has no findings of axe and no sideways scroll on %s %i wide in %s', async ([, width, colorScheme]) => {
    await page.setViewportSize({ width, height: 844 })
    await page.emulateMedia({ colorScheme })
    await press('slow', 'on')
    await click('Expire the keys')
    await page.locator('#with .process.leads').first().waitFor()
    expect(await findingsOf(page)).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
  })

  test('can be worked with the keyboard', async () => {
    await page.locator('#tour-button').focus()
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
    expect(sum).toBeGreaterThan(50_000)
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
