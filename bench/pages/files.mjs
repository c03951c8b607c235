/** What is written from the results of the benchmark. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { checkout } from '../../tools/command.mjs'
import { chart } from './chart.mjs'
import { comparisonTables } from './comparison.mjs'
import { chinese, english, overview } from './overview.mjs'
import { performancePage } from './performance.mjs'

/** Where the results are kept that the pages are written from. */
export const resultsFolder = join(checkout, 'bench/results')

const place = /(?<=<!-- peers:begin -->\n)[^]*(?=<!-- peers:end -->)/

/**
 * The texts that are written from results, by their files.
 * @returns {Promise<Record<string, string>>}
 */
export async function pages() {
  const performance = await results('performance.json')
  const peers = await results('peers.json')
  const withTables = async (/** @type {string} */ file, /** @type {string} */ tables) =>
    (await readFile(join(checkout, file), 'utf8')).replace(place, () => tables)
  return {
    'docs/performance.md': performancePage(performance),
    'docs/performance.svg': chart(performance),
    'docs/comparison.md': await withTables('docs/comparison.md', comparisonTables(peers)),
    'README.md': await withTables('README.md', overview(peers, english)),
    'README.zh-CN.md': await withTables('README.zh-CN.md', overview(peers, chinese)),
  }
}

/** Writes them. */
export async function writePages() {
  for (const [file, text] of Object.entries(await pages())) await writeFile(join(checkout, file), text)
}

/** @param {string} name */
async function results(name) {
  return JSON.parse(await readFile(join(resultsFolder, name), 'utf8'))
}
