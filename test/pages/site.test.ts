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

/** The column and the spacing of a README on GitHub. */
const likeGitHub = `
  article { width: 838px; margin: 0 auto; font: 16px/1.5 system-ui, sans-serif }
  h1 { font-size: 2em; line-height: 1.25; margin: 0 0 16px; padding-bottom: 0.3em }
  p, pre { margin: 0 0 16px } pre { padding: 16px; font: 13.6px/1.45 monospace; overflow: auto }
  img { max-width: 100% } button, .lang { display: none }`

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
    ['', 'stale', 'freshness.html'],
    ['', 'ttl', 'options.html#ttl'],
    ['', 'thundering herd', 'hot-key.html'],
    ['', 'cache-manager', 'migrate.html#cache-manager'],
    ['', 'negative caching', 'missing.html'],
    ['', 'getOrLoadMany', 'options.html#getorloadmany'],
    ['', 'grace', 'options.html#grace'],
    ['', 'redlock', 'migrate.html#node-redlock'],
    ['zh/', '缓存击穿', 'zh/hot-key.html'],
    ['zh/', '缓存雪崩', 'zh/avalanche.html'],
  ] as const)('finds first, from the page "%s", for "%s" the page %s', async ([path, words, found]) => {
    await using page = await open(path, 1280)
    await page.locator('.VPNavBarSearch button').click()
    await page.locator('.VPLocalSearchBox input').fill(words)
    const first = page.locator('.VPLocalSearchBox .results a').first()
    await expect
      .poll(() => first.getAttribute('href', { timeout: 30_000 }), { timeout: 30_000 })
      .toMatch(new RegExp(`^${base}${found}(#|$)`))
  })

  test.for(['', 'zh/'])('shows claim, install and code on the first screen of "%s", and leads on', async (path) => {
    await using page = await open(path, 1440)
    for (const part of ['h1', '.claim', 'text=npm install', 'text=cache.getOrLoad', '.actions a'])
      expect((await page.locator(part).first().boundingBox())?.y, `${part} is too low`).toBeLessThan(800)
    expect(await page.evaluate('document.documentElement.scrollHeight')).toBeLessThan(3000)
  })

  test('the first screen of the README, as GitHub shows it, holds claim, code and picture', async () => {
    const { createMarkdownRenderer } = (await import(
      join(checkout, 'site/node_modules/vitepress/dist/node/index.js')
    )) as {
      createMarkdownRenderer: (folder: string) => Promise<{ render(text: string): string }>
    }
    const renderer = await createMarkdownRenderer(checkout)
    const readme = readFileSync(join(checkout, 'README.md'), 'utf8').replaceAll(/^```(\w+) .*$/gm, '```$1')
    const picture = readFileSync(join(checkout, 'docs/lab.svg'), 'base64')
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
    const html = renderer.render(readme).replace(/src="[^"]*lab\.svg"/, `src="data:image/svg+xml;base64,${picture}"`)
    await page.setContent(`<style>${likeGitHub}</style><article>${html}</article>`)
    for (const part of ['h1', 'pre >> nth=1', 'pre >> nth=2', 'img >> nth=0']) {
      const box = await page.locator(part).first().boundingBox()
      expect((box?.y ?? 800) + (box?.height ?? 0), `${part} is too low`).toBeLessThanOrEqual(800)
    }
    await page.close()
  })

  test.for(['start', 'responses', 'freshness', 'tags', 'hot-key', 'locks', 'migrate', 'questions', 'zh/start'])(
    'shows the code of %s as wide as it is',
    async (name) => {
      await using page = await open(`${name}.html`, 1440)
      const wide = await page
        .locator('.vp-doc pre')
        .evaluateAll((blocks) =>
          blocks.filter((block) => block.scrollWidth > block.clientWidth).map((block) => block.textContent),
        )
      expect(wide).toEqual([])
    },
  )

  test('has a sidebar of groups that fold, of which the open one is that of the page', async () => {
    await using page = await open('tags.html', 1440)
    const groups = page.locator('.VPSidebar .group .VPSidebarItem.level-0')
    const open_ = page.locator('.VPSidebar .VPSidebarItem.level-0.collapsible:not(.collapsed) > .item')
    expect(await groups.count()).toBeGreaterThan(5)
    expect(await open_.allTextContents()).toEqual(['Start', 'Caching'])
    const links = await page.locator('.VPSidebar a').allTextContents()
    expect(links.length).toBeLessThan(60)
    expect(links.filter((text) => text !== 'Next.js' && /\.\w+$|\/$/.test(text))).toEqual([])
  })

  test('says in the Chinese sidebar which pages are in English', async () => {
    await using page = await open('zh/start.html', 1440)
    const links = await page
      .locator('.VPSidebar a')
      .evaluateAll((all) => all.map((link) => [link.getAttribute('href') ?? '', link.textContent ?? ''] as const))
    expect(links.length).toBeGreaterThan(30)
    const wrong = links.filter(([href, text]) => href.includes('/zh/') === text.endsWith(' EN'))
    expect(wrong).toEqual([])
  })

  test('draws the diagrams and pictures, each with words for those who do not see them', async () => {
    for (const [path, count] of [
      ['protocol.html', 2],
      ['how-it-works.html', 6],
    ] as const) {
      await using page = await open(path, 1280)
      const pictures = await page
        .locator('.vp-doc img')
        .evaluateAll((all: HTMLImageElement[]) =>
          all.map((each) => ({ width: each.naturalWidth, words: each.getAttribute('alt') ?? '' })),
        )
      expect(pictures).toHaveLength(count)
      for (const { width, words } of pictures) {
        expect(width).toBeGreaterThan(300)
        expect(words.length).toBeGreaterThan(60)
      }
      expect(await page.locator('.language-mermaid').count()).toBe(0)
    }
  })

  test.for([
    [1280, 'light'],
    [390, 'dark'],
  ] as const)('has no findings of axe and no sideways scroll %i wide in %s', async ([width, colorScheme]) => {
    for (const path of [
      '',
      'start.html',
      'options.html',
      'responses.html',
      'how-it-works.html',
      'zh/',
      'zh/start.html',
    ]) {
      await using page = await open(path, width, colorScheme)
      expect(await findingsOf(page), `${path} has findings`).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth'), `${path} scrolls`).toBeLessThanOrEqual(width)
    }
  })
})
