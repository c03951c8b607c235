import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkout } from '../../tools/command.mjs'
import { startRedis, type RedisServer } from '../support/servers.ts'
import { outcome } from './shared-process.ts'
import { doc } from './markdown.ts'

const folder = join(checkout, 'examples')
const oneFile = readdirSync(folder).filter((name) => name.endsWith('.mjs'))
const steps = readdirSync(join(folder, 'steps')).filter((name) => /^\d/.test(name))
const index = doc('docs/README.md')
const stepByStep = doc('docs/steps.md')

test.for(oneFile)('examples/%s is short', (name) => {
  expect(name).toMatch(/^\d\d-/)
  expect(readFileSync(join(folder, name), 'utf8').split('\n').length).toBeLessThanOrEqual(41)
})

test.for(steps)('examples/steps/%s is short', (name) => {
  expect(readFileSync(join(folder, 'steps', name), 'utf8').split('\n').length).toBeLessThanOrEqual(61)
})

describe.for([...oneFile, 'shop/shop.mjs', ...steps.map((name) => `steps/${name}`)])('examples/%s', (name) => {
  const text = readFileSync(join(folder, name), 'utf8')
  let redis: RedisServer

  beforeAll(async () => {
    redis = await startRedis()
  })

  afterAll(async () => {
    await redis?.stop()
  })

  test('is listed', () => {
    const list = name.startsWith('steps/') ? stepByStep : index
    expect(list.links).toContain(`../examples/${name}`)
  })

  // A second run finds the values of the first; a step deletes those of its own.
  const runs = name.startsWith('steps/') ? ['on an empty Redis'] : ['on an empty Redis', 'once more']
  test.for(runs)('prints what it says and ends by itself, %s', { timeout: 90_000 }, async () => {
    const env = { ...process.env, REDIS_URL: redis.url }
    const { code, output } = await outcome(execFile(process.execPath, [join(folder, name)], { env, timeout: 80_000 }))
    const [, promised = ''] = /^\/\*\*([^]*?)\*\//.exec(text) ?? []
    const lines = [...promised.matchAll(/^ \* {3}(.*)$/gm)].map((match) => match[1] as string)
    expect(lines).not.toEqual([])
    const printed = output
      .replaceAll(/\d+(?= ms)/g, '…')
      .trim()
      .split('\n')
    expect({ code, printed }).toEqual({ code: 0, printed: lines })
  })
})
