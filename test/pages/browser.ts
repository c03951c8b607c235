import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium, type Browser, type Page } from 'playwright-core'
import { provisionChromium, quietFlags } from '../../tools/servers/provision-chromium.mjs'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** A headless Chromium. */
export async function launchBrowser(): Promise<Browser> {
  const { program, env } = await provisionChromium()
  // Of its own, because it leaves shared memory there when it is ended. With a short name: the path of Chromium's socket in it
  // has at most 107 characters.
  const folder = mkdtempSync(join(tmpdir(), 'c-'))
  const browser = await chromium.launch({
    executablePath: program,
    env: { ...(process.env as Record<string, string>), ...env, TMPDIR: folder },
    args: quietFlags,
  })
  browser.on('disconnected', () => rmSync(folder, { recursive: true, force: true }))
  return browser
}

/** The findings of axe on a page, each with the elements that it is about. */
export async function findingsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe)
  const violations = await page.evaluate(async () => {
    const { axe: checker } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> }
    }
    return (await checker.run()).violations
  })
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}
