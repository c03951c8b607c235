import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, test } from 'vitest'
import { checkout } from '../../tools/command.mjs'
import { doc, docs } from './markdown.ts'

const pages = docs()

test.for(pages)('every link of $path leads somewhere', ({ path, links }) => {
  const local = links.filter((link) => !/^(https?|mailto):/.test(link))
  const dead = local.filter((link) => {
    const [file = '', anchor = ''] = link.split('#')
    const target = file === '' ? path : normalize(join(dirname(path), file))
    return !existsSync(join(checkout, target)) || (anchor !== '' && !doc(target).anchors.includes(anchor))
  })
  expect(dead).toEqual([])
})

test('every page can be reached from the README', () => {
  const reached = new Set<string>()
  const visit = (path: string): void => {
    if (reached.has(path) || !pages.some((page) => page.path === path)) return
    reached.add(path)
    for (const link of doc(path).links) visit(normalize(join(dirname(path), link.replace(/#.*/, ''))))
  }
  visit('README.md')
  expect([...reached].toSorted()).toEqual(pages.map(({ path }) => path).toSorted())
})

describe('a command', () => {
  const { scripts } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8'))

  test('that a page gives is one of package.json', () => {
    const unknown = pages.flatMap(({ path, text }) =>
      [...text.matchAll(/\bnpm (?:run )?((?<=run )[\w:]+|test\b)/g)]
        .filter(([, script = '']) => !(script in scripts))
        .map(([command]) => `${command} in ${path}`),
    )
    expect(unknown).toEqual([])
  })

  test('is explained to contributors', () => {
    const { text } = doc('CONTRIBUTING.md')
    const missing = Object.keys(scripts).filter(
      (script) => !text.includes(script === 'test' ? '`npm test`' : `\`npm run ${script}\``),
    )
    expect(missing).toEqual([])
  })
})

test('the lab has its place on the page of the hot key, and it is filled', () => {
  const [, table = ''] = /<!-- lab:begin -->([^]*)<!-- lab:end -->/.exec(doc('docs/hot-key.md').text) ?? []
  for (const way of ['nothing', 'coalescing', 'lock', 'herdless']) expect(table).toContain(way)
})
