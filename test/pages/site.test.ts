import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import express from 'express'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkout, command } from '../../tools/command.mjs'
import { provisionChromium } from '../../tools/servers/provision-chromium.mjs'
import { pageOf } from '../../site/pages.mjs'
import { docs } from '../docs/markdown.ts'
import { findingsOf, launchBrowser } from './browser.ts'
import { missing } from '../support/provided.ts'

const reason = await missing(provisionChromium)
const dist = join(checkout, 'site/dist')
const base = '/a/project/'

let server: Server
let origin: string
let pages: string[]

beforeAll(async () => {
  await command('node', ['scripts/site.mjs', '--base', base])
  pages = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.html'))
  server = createServer(express().use(base, express.static(dist))).listen(0, '127.0.0.1')
  await once(server, 'listening')
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}, 900_000)

afterAll(() => void server?.close())

test('has a page for each document', () => {
  const wanted = docs().map(({ path }) => pageOf(path).replace(/md$/, 'html'))
  expect(pages).toEqual(expect.arrayContaining(wanted))
})

test('has no link that leads nowhere, and none that leaves it but to other sites', () => {
  const texts = new Map(pages.map((page) => [base + page, readFileSync(join(dist, page), 'utf8')]))
  const idsOf = new Map(
    [...texts].map(([page, text]) => [page, new Set([...text.matchAll(/\bid="([^"]+)"/g)].map(([, id]) => id))]),
  )
  const links = [...texts].flatMap(([page, text]) =>
    [...text.matchAll(/<a\b[^>]*\bhref="([^"]+)"/g)].map(([, href = '']) => ({
      page,
      url: new URL(href.replaceAll('&amp;', '&'), origin + page),
    })),
  )
  const inside = links.filter(({ url }) => url.origin === origin)
  expect(inside.length).toBeGreaterThan(1000)
  const lost = inside.filter(({ url }) => {
    const page = url.pathname.replace(/\/$/, '/index.html').replace(/(?<!\.html|\.txt)$/, '.html')
    const anchor = decodeURIComponent(url.hash.slice(1))
    return !texts.has(page) || (anchor !== '' && idsOf.get(page)?.has(anchor) !== true)
  })
  expect(lost.map(({ page, url }) => `${page}: ${url.pathname}${url.hash}`)).toEqual([])
})

test('gives language models a list whose links lead to its pages', () => {
  const links = [...readFileSync(join(dist, 'llms.txt'), 'utf8').matchAll(/\]\(([^)#]+)/g)].map(([, link = '']) => link)
  expect(links.length).toBeGreaterThan(20)
  for (const link of links) expect(pages).toContain(link.replace(base, ''))
})

describe.skipIf(reason !== undefined)(`in a browser${reason ? ` (${reason})` : ''}`, () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await launchBrowser()
  }, 180_000)

  afterAll(() => browser?.close())

  /** A page that complains of nothing and asks no other host. */
  async function open(
    path: string,
    width: number,
    colorScheme: 'light' | 'dark' = 'light',
  ): Promise<Page & AsyncDisposable> {
    const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme, reducedMotion: 'reduce' })
    const complaints: string[] = []
    page.on('pageerror', (error) => complaints.push(error.message))
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text())
    })
    page.on('request', (request) => {
      const url = request.url()
      if (!url.startsWith(origin + base) && !url.startsWith('data:')) complaints.push(`asks ${url}`)
    })
    await page.goto(origin + base + path, { waitUntil: 'networkidle' })
    const close = async (): Promise<void> => {
      await page.close()
      expect(complaints).toEqual([])
    }
    return Object.assign(page, { [Symbol.asyncDispose]: close })
  }

  test.for([
    ['', 'thundering herd', 'hot-key.html'],
    ['', 'negative caching', 'missing.html'],
    ['', 'getOrLoadMany', 'many.html'],
    ['zh/', '缓存击穿', 'zh/hot-key.html'],
  ] as const)('finds, from the page "%s", "%s" on %s', async ([path, words, found]) => {
    await using page = await open(path, 1280)
    await page.locator('.VPNavBarSearch button').click()
    await page.locator('.VPLocalSearchBox input').fill(words)
    const results = page.locator(`.VPLocalSearchBox .results a[href*="${base}${found}"]`)
    await expect.poll(() => results.count(), { timeout: 30_000 }).toBeGreaterThan(0)
  })

  test.for([
    [1280, 'light'],
    [390, 'dark'],
  ] as const)('has no findings of axe and no sideways scroll %i wide in %s', async ([width, colorScheme]) => {
    for (const path of ['', 'start.html', 'responses.html', 'locks.html', 'zh/', 'zh/start.html']) {
      await using page = await open(path, width, colorScheme)
      expect(await findingsOf(page), `${path} has findings`).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth'), `${path} scrolls`).toBeLessThanOrEqual(width)
    }
  })
})
