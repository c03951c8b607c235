import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkout } from '../../tools/command.mjs'
import { startRedis, type RedisServer } from '../support/servers.ts'
import { ended } from './blocks.ts'
import { doc } from './markdown.ts'

const folder = join(checkout, 'examples')
const oneFile = readdirSync(folder).filter((name) => name.endsWith('.mjs'))
const index = doc('docs/README.md')

test.for(oneFile)('examples/%s is short', (name) => {
  expect(name).toMatch(/^\d\d-/)
  expect(readFileSync(join(folder, name), 'utf8').split('\n').length).toBeLessThanOrEqual(41)
})

describe.for([...oneFile, 'shop/shop.mjs'])('examples/%s', (name) => {
  const text = readFileSync(join(folder, name), 'utf8')
  let redis: RedisServer

  beforeAll(async () => {
    redis = await startRedis()
  })

  afterAll(async () => {
    await redis?.stop()
  })

  test('is listed', () => {
    expect(index.links).toContain(`../examples/${name}`)
  })

  // A second run finds the values of the first.
  test.for(['on an empty Redis', 'once more'])('prints what it says and ends by itself, %s', async () => {
    const env = { ...process.env, REDIS_URL: redis.url }
    const { code, output } = await ended(execFile(process.execPath, [join(folder, name)], { env, timeout: 25_000 }))
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
