/**
 * `npm run site`: builds the documentation as a static site into site/dist. `--base /path/` says where it is to be
 * served (default: /herdless/), and `--serve` serves the result on loopback.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { checkout, command } from '../tools/command.mjs'
import { isInstalled } from '../tools/installed.mjs'

const { values: options } = parseArgs({
  options: { base: { type: 'string', default: '/herdless/' }, serve: { type: 'boolean', default: false } },
})
const base = `/${options.base}/`.replaceAll(/\/+/g, '/')
const site = join(checkout, 'site')

if (!(await isInstalled(site))) await command('npm', ['ci', '--no-audit', '--no-fund'], { cwd: site })
const { writePages } = await import('../site/pages.mjs')
const paths = await writePages(base)
console.log(`herdless: ${paths.length} files of the checkout are pages of the site`)
await vitepress('build')
if (options.serve) await vitepress('preview')

/** @param {'build' | 'preview'} what */
async function vitepress(what) {
  await command('node', ['node_modules/vitepress/bin/vitepress.js', what], { cwd: site, env: { SITE_BASE: base } })
}
