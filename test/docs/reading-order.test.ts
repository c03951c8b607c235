import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { checkout } from '../../tools/command.mjs'
import { doc, rows } from './markdown.ts'

interface Place {
  readonly name: string
  readonly file: string
  /** The number of the place that calls it; `null` for what a user calls. */
  readonly caller: number | null
}

const { text: contributing } = doc('CONTRIBUTING.md')

function placesOf(title: string): Place[] {
  return rows(contributing.split(`## ${title}\n`)[1]?.split('\n## ')[0] ?? '', '#').map(
    ([, place = '', caller = '']) => {
      const [, name = '', file = ''] = /^`([^`]+)` in `([^`]+)`$/.exec(place.trim()) ?? []
      return { name, file, caller: caller.trim() === '' ? null : Number(caller) }
    },
  )
}

function textOf({ file }: Pick<Place, 'file'>): string {
  return readFileSync(join(checkout, file), 'utf8')
}

/** Whether a text defines a function, a method or a class of this name; a script is one. */
function defines(text: string, { name, file }: Place): boolean {
  if (file.endsWith('.lua')) return text.includes('redis.call(')
  return new RegExp(`^ *(export )?((async )?(function )?${name}(<[^\\n]*>)?\\(|class ${name} )`, 'm').test(text)
}

/** Whether a text calls one; a script is run by its name. */
function calls(text: string, { name, file }: Place): boolean {
  return file.endsWith('.lua')
    ? text.includes(`scripts.${name}`)
    : new RegExp(`[.\\s(]${name}(<[^\\n]*>)?\\(`).test(text)
}

const titles = [
  'The way of a call',
  'The way of a lock',
  'The way of a response that is not stored',
  'The way of a response that is stored',
  'The way of a refresh',
]

describe.each(titles)('%s in CONTRIBUTING.md', (title) => {
  const places = placesOf(title)

  test('enters each file once', () => {
    const entered = places.map(({ file }) => file).filter((file, index, all) => file !== all[index - 1])
    expect(entered.length).toBeGreaterThan(5)
    expect(entered).toEqual([...new Set(entered)])
  })

  test('names places that exist, each called in an earlier one', () => {
    const isThere = (place: Place): boolean => defines(textOf(place), place)
    const isCalled = (place: Place, index: number): boolean => {
      const caller = place.caller === null || place.caller > index ? undefined : places[place.caller - 1]
      return place.caller === null || (caller !== undefined && calls(textOf(caller), place))
    }
    expect(places.filter((place, index) => !isThere(place) || !isCalled(place, index))).toEqual([])
  })
})
