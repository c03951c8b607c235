import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import config from '../../vitest.config.ts'
import { checkout } from '../../tools/command.mjs'
import { suites, suitesOf } from '../../tools/suites.mjs'
import { doc, rows } from './markdown.ts'

const nightly = suitesOf('nightly').map((name) => ({ name, ...suites[name] }))

test('every project of vitest is in one ring', () => {
  const projects = (config as { test: { projects: { test: { name: string } }[] } }).test.projects
  expect(projects.map((project) => project.test.name).toSorted()).toEqual(Object.keys(suites).toSorted())
})

describe('a proof', () => {
  test.for(nightly)('$name is of rooms that are there', ({ rooms = [] }) => {
    const missing = rooms.filter(
      (room) => !existsSync(join(checkout, room)) && !existsSync(join(checkout, `${room}.md`)),
    )
    expect([rooms.length > 0, missing]).toEqual([true, []])
  })

  test('is in the table for contributors', () => {
    const told = rows(doc('CONTRIBUTING.md').text, 'proof').map((cells) => cells.map((cell) => cell.trim()))
    const roomsOf = ({ rooms = [] }: (typeof nightly)[number]) => rooms.map((room) => `\`${room}\``).join(' ')
    expect(told).toEqual(nightly.map((suite) => [`\`${suite.name}\``, suite.proves, roomsOf(suite)]))
  })
})

test('one Node runs the second ring, the others the first, and every night runs all', () => {
  const runs = (file: string): string => readFileSync(join(checkout, '.github/workflows', file), 'utf8')
  const { jobs } = parse(runs('ci.yml')) as { jobs: { test: { strategy: { matrix: { include: { run: string }[] } } } } }
  expect(jobs.test.strategy.matrix.include.map(({ run }) => run).toSorted()).toEqual([
    '.ci/run',
    'npm test',
    'npm test',
  ])
  for (const command of ['npm run test:full', 'npm run mutate', 'npm run bench -- --check'])
    expect(runs('nightly.yml')).toContain(command)
})
