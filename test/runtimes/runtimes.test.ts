import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, inject, test } from 'vitest'
import { checkout } from '../../tools/command.mjs'
import { unpackInto } from '../../tools/pack.mjs'

const folder = join(checkout, 'test/runtimes')
const bin = join(folder, 'node_modules/.bin')

/** What the smoke says on a runtime, which must then end by itself. */
async function outcomes(command: string, ...args: string[]): Promise<unknown> {
  const given = [...args, join(folder, 'smoke.mjs'), inject('redisUrl')]
  const { stdout } = await promisify(execFile)(command, given, { timeout: 120_000 })
  return JSON.parse(stdout)
}

let onNode: unknown

beforeAll(async () => {
  await unpackInto(folder)
  onNode = await outcomes(process.execPath)
})

test('the smoke says what is expected', () => {
  const value = (load: number): unknown => ({ load, at: '1970-01-01T00:00:00.000Z' })
  const cache = {
    herd: Array.from({ length: 4 }, () => value(1)),
    hit: value(1),
    many: [value(1), 'l'],
    anew: value(2),
    refreshed: value(3),
    failed: 'RangeError: away',
    timedOut: [true, 'LOAD_TIMEOUT'],
    state: 'fresh',
  }
  const lock = { order: ['one', 'bigint', 'two', 'bigint'], refused: null }
  const on = (client: string): object => ({
    [`${client}, without near`]: cache,
    [`${client}, with near`]: cache,
    [`lock, ${client}`]: lock,
  })
  const unanswered = 'STORE_UNAVAILABLE, timeout'
  expect(onNode).toEqual({ unanswered, memory: cache, memoryLock: lock, ...on('ioredis'), ...on('node-redis') })
})

test.each([
  ['Bun', 'bun', []],
  ['Deno', 'deno', ['run', '--allow-all']],
])('on %s the core says the same as on Node.js', async (_, command, args) => {
  expect(await outcomes(join(bin, command), ...args)).toEqual(onNode)
})
