import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { checkout } from '../../tools/command.mjs'
import { doc, rows } from './markdown.ts'

interface Place {
  readonly name: string
  readonly file: string
  /** The number of the place that calls it; `null` for the first. */
  readonly caller: number | null
}

const places: readonly Place[] = rows(doc('CONTRIBUTING.md').text, '#').map(([, place = '', caller = '']) => {
  const [, name = '', file = ''] = /^`([^`]+)` in `([^`]+)`$/.exec(place.trim()) ?? []
  return { name, file, caller: caller.trim() === '' ? null : Number(caller) }
})

function textOf({ file }: Pick<Place, 'file'>): string {
  return readFileSync(join(checkout, file), 'utf8')
}

/** Whether a text defines a function, a method or a class of this name; a script is one. */
function defines(text: string, { name, file }: Place): boolean {
  if (file.endsWith(`${name}.lua`)) return text.includes('redis.call(')
  return new RegExp(`^ *(export )?((async )?(function )?${name}(<[^\\n]*>)?\\(|class ${name} )`, 'm').test(text)
}

/** Whether a text calls one; a script is run by its name. */
function calls(text: string, { name, file }: Place): boolean {
  return file.endsWith('.lua')
    ? text.includes(`scripts.${name}`)
    : new RegExp(`[.\\s(]${name}(<[^\\n]*>)?\\(`).test(text)
}

describe('the way of a call in CONTRIBUTING.md', () => {
  test('has some ten places in at most 20 files', () => {
    expect(places.length).toBeGreaterThanOrEqual(10)
    expect(new Set(places.map(({ file }) => file)).size).toBeLessThanOrEqual(20)
  })

  test.each(places)('$name is there, and is called in the place that is named', (place) => {
    expect(defines(textOf(place), place)).toBe(true)
    const caller = places[(place.caller ?? 0) - 1]
    // Nobody but a user calls the first.
    expect(caller !== undefined && calls(textOf(caller), place)).toBe(place !== places[0])
  })
})
