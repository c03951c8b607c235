import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { chromium, type Browser, type Page } from 'playwright-core'
import { provisionChromium, quietFlags } from '../../tools/servers/provision-chromium.mjs'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** A headless Chromium. */
export async function launchBrowser(): Promise<Browser> {
  const { program, env } = await provisionChromium()
  return await chromium.launch({
    executablePath: program,
    env: { ...(process.env as Record<string, string>), ...env },
    args: quietFlags,
  })
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
