import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { checkout } from '../../tools/command.mjs'
import { startRedis } from '../support/servers.ts'
import { outcome } from './shared-process.ts'
import { doc, type Doc } from './markdown.ts'

const folder = join(checkout, 'examples')
const oneFile = readdirSync(folder).filter((name) => name.endsWith('.mjs'))
const steps = readdirSync(join(folder, 'steps'))
  .filter((name) => /^\d/.test(name))
  .map((name) => `steps/${name}`)
const index = doc('docs/README.md')
const stepByStep = doc('docs/steps.md')

test('each example is short, and is listed on its page', () => {
  const lengthOf = (name: string): number => readFileSync(join(folder, name), 'utf8').split('\n').length
  const isListed = (page: Doc, name: string): boolean => page.links.includes(`../examples/${name}`)
  expect(oneFile.filter((name) => !/^\d\d-/.test(name) || lengthOf(name) > 41)).toEqual([])
  expect(steps.filter((name) => lengthOf(name) > 61)).toEqual([])
  expect([...oneFile, 'shop/shop.mjs'].filter((name) => !isListed(index, name))).toEqual([])
  expect(steps.filter((name) => !isListed(stepByStep, name))).toEqual([])
})

/** The night runs all of them, and once more those that find the values of their first run; a step deletes its own. */
const isNight = process.env['THOROUGH'] === 'yes'

/** What these print is decided by real time: what expires, who is first, how long a crowd takes. A busy machine prints something else. */
const byTheClock = /^(?:02|05|06|08|11|15|19)-|^steps/

const all = [...oneFile, 'shop/shop.mjs', ...steps]

/** What an example says that it prints, in its first comment. */
function promised(text: string): string[] {
  const [, comment = ''] = /^\/\*\*([^]*?)\*\//.exec(text) ?? []
  return [...comment.matchAll(/^ \* {3}(.*)$/gm)].map((match) => match[1] as string)
}

describe.concurrent('an example', () => {
  test.for(all.filter((name) => isNight || !byTheClock.test(name)))(
    'prints what it says and ends by itself: examples/%s',
    { timeout: 400_000 },
    async (name, { expect }) => {
      const lines = promised(readFileSync(join(folder, name), 'utf8'))
      expect(lines).not.toEqual([])
      await using redis = await startRedis()
      const env = { ...process.env, REDIS_URL: redis.url }
      for (const run of isNight && !steps.includes(name) ? ['on an empty Redis', 'once more'] : ['on an empty Redis']) {
        // Half of the time of many would be spent on machine code for a database that is asked for a moment.
        const args = ['--liftoff-only', join(folder, name)]
        const child = execFile(process.execPath, args, { env, timeout: 190_000 })
        const { code, output } = await outcome(child)
        const printed = output
          .replaceAll(/\d+(?= ms)/g, '…')
          .trim()
          .split('\n')
        expect({ run, code, printed }).toEqual({ run, code: 0, printed: lines })
      }
    },
  )
})
