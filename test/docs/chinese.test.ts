import { describe, expect, test } from 'vitest'
import { doc } from './markdown.ts'
import { marker, markers, pairs, sections, targets } from './translations.ts'

const translations = new Map(pairs().map(({ original, translation }) => [original, translation]))

/** The page in Chinese to which a link leads there, if there is one. */
function translated(target: string): string {
  const [file = '', anchor] = target.split('#')
  const path = translations.get(file) ?? file
  return anchor === undefined ? path : `${path}#${anchor}`
}

test('the README and the pages that most need are there in Chinese', () => {
  const names = 'README start hot-key penetration avalanche freshness tags responses production questions'
  const pages = names.split(' ').map((name) => `docs/${name}.md`)
  expect([...translations.keys()]).toEqual(expect.arrayContaining(['README.md', ...pages]))
})

describe.for(pairs())('$translation says what $original says', ({ original, translation }) => {
  const [english, chinese] = [doc(original), doc(translation)]

  test('in the same sections, with the same tables, figures and code in the sentences', () => {
    expect(sections(chinese)).toEqual(sections(english))
  })

  test('with the same blocks of code, which are therefore run in English only', () => {
    const blocks = [english, chinese].map((page) =>
      page.blocks.map(({ language, info, code }) => ({ language, info, code })),
    )
    expect(blocks[1]).toEqual(blocks[0])
  })

  test('with the same links, to pages in Chinese where there are any', () => {
    const wanted = targets(english).filter((target) => target !== translation)
    expect(targets(chinese).filter((target) => target !== original)).toEqual(wanted.map(translated).toSorted())
  })

  test('and has been compared with it since its words changed: see test/docs/review-chinese.ts', () => {
    expect(chinese.text.match(markers)).toEqual([marker(english)])
  })
})
