import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { lines } from '../../bench/lines/index.mjs'
import { pages, resultsFolder } from '../../bench/pages/files.mjs'
import { sections } from '../../bench/pages/performance.mjs'
import { peers } from '../../bench/peers/peer.mjs'
import { checkout } from '../../tools/command.mjs'
import { rows } from './markdown.ts'

const written = await pages()
const { dependencies } = json(join(checkout, 'bench/peers/package.json')) as { dependencies: Record<string, string> }
const measured = json(join(resultsFolder, 'peers.json')) as {
  peers: { name: string; package: string | null; version: string; title: string }[]
}

function json(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'))
}

describe('the pages of the benchmark', () => {
  test.for(Object.keys(written))('%s is what its results say', (file) => {
    expect(readFileSync(join(checkout, file), 'utf8')).toBe(written[file])
  })

  test('show every line, each in one section', () => {
    expect(Object.values(sections).flat().toSorted()).toEqual(Object.keys(lines).toSorted())
    const { results } = json(join(resultsFolder, 'performance.json')) as { results: { name: string; title: string }[] }
    expect(results.map(({ name }) => name).toSorted()).toEqual(Object.keys(lines).toSorted())
    const headings = written['docs/performance.md']?.match(/(?<=^### ).*$/gm)
    expect(headings?.toSorted()).toEqual(results.map(({ title }) => title).toSorted())
  })
})

describe('the comparison', () => {
  test('is with all packages of bench/peers, in the versions that are installed there', () => {
    const packages = measured.peers.filter((peer) => peer.package !== null)
    expect(Object.fromEntries(packages.map((peer) => [peer.package, peer.version]))).toEqual(dependencies)
    expect(measured.peers.map(({ name }) => name)).toEqual(Object.keys(peers))
  })

  test('names them in every table, and says what speaks for each package', () => {
    const text = written['docs/comparison.md'] ?? ''
    const titles = Object.values(peers).map(({ title }) => title)
    // One table after the other.
    const named = rows(text, 'package').map(([name = '']) => name.replaceAll(/\*\*|\[|\]\(.*\)/g, ''))
    expect(named).toEqual([...titles, ...titles, ...titles, ...Object.keys(dependencies).toSorted(byName)])
  })
})

/** As the tables have them: without the scope. */
function byName(one: string, other: string): number {
  return one.replace('@epic-web/', '').localeCompare(other.replace('@epic-web/', ''))
}
