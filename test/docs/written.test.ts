import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { checkout } from '../../tools/command.mjs'
import { outcome } from './shared-process.ts'
import { doc, rows } from './markdown.ts'

test.for([
  ['llms.txt', 'scripts/write-llms.mjs'],
  ['docs/api.md', 'scripts/write-api.mjs'],
] as const)('%s is what %s writes', async ([, script]) => {
  // The compiler may complain of its own end on stderr.
  expect(await outcome(execFile(process.execPath, [join(checkout, script), '--check']))).toMatchObject({ code: 0 })
})

describe('llms.txt', () => {
  const { text, links } = doc('llms.txt')

  test('has a title, a summary and sections of links, of which the last is optional', () => {
    expect(text).toMatch(/^# herdless\n\n> .*\n/)
    const parts = text.split('\n## ').slice(1)
    expect(parts.length).toBeGreaterThan(5)
    expect(parts.at(-1)).toMatch(/^Optional\n/)
    for (const part of parts) expect(part).toMatch(/^[\w ]+\n\n(- \[.+\]\(\S+\): .+\n)+$/)
  })

  test('has a link to each page', () => {
    expect(links.filter((link) => !existsSync(join(checkout, link)))).toEqual([])
    const pages = doc('docs/README.md').links.filter((link) => /^[\w-]+\.md$/.test(link))
    expect(pages.length).toBeGreaterThan(30)
    expect(pages.filter((page) => !links.includes(`docs/${page}`))).toEqual([])
  })
})

test('the glossary has at most 25 rows, so that one reads it', () => {
  const words = rows(doc('docs/glossary.md').text, 'word')
  expect(words.length).toBeGreaterThan(15)
  expect(words.length).toBeLessThanOrEqual(25)
})

test('the README says how much is installed: the package and its two dependencies', () => {
  const { dependencies, files } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
    files: string[]
  }
  expect(Object.keys(dependencies)).toEqual(['commander', 'lru-cache'])
  const packed = [...files, 'package.json', 'README.md', 'README.zh-CN.md', 'LICENSE']
  const installed = Object.keys(dependencies).map((name) => `node_modules/${name}`)
  const size = [...packed, ...installed].reduce((sum, path) => sum + sizeOf(join(checkout, path)), 0)
  const [, told] = /Installed size: ([\d.]+) MB/.exec(doc('README.md').text) ?? []
  expect(Math.abs(Number(told) - size / 1e6)).toBeLessThan(0.5)
})

/** The bytes of a file, or of all files in a folder. */
function sizeOf(path: string): number {
  if (!statSync(path).isDirectory()) return statSync(path).size
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0)
}
