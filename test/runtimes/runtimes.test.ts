import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, inject, test } from 'vitest'
import { checkout } from '../../tools/command.mjs'
import { unpackInto } from '../../tools/pack.mjs'

const folder = join(checkout, 'test/runtimes')
const bin = join(folder, 'node_modules/.bin')

/** What a program says on a runtime, which must then end by itself. */
async function outcomes(program: string, command: string, ...args: string[]): Promise<unknown> {
  const given = [...args, join(folder, program), inject('redisUrl')]
  const { stdout } = await promisify(execFile)(command, given, { timeout: 120_000 })
  return JSON.parse(stdout)
}

let onNode: unknown
let responses: unknown
let contracts: { readonly passed: readonly string[]; readonly failed: object }

beforeAll(async () => {
  await unpackInto(folder)
  contracts = (await outcomes('contracts.mjs', process.execPath)) as typeof contracts
  onNode = await outcomes('smoke.mjs', process.execPath)
  responses = await outcomes('responses.mjs', process.execPath)
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

test('the contracts of stores and locks hold', () => {
  expect(contracts.failed).toEqual({})
  for (const kind of ['memory', 'ioredis', 'node-redis', 'lock, ioredis', 'lock, node-redis']) {
    expect(contracts.passed.some((name) => name.startsWith(kind))).toBe(true)
  }
})

test('responses are what is expected', () => {
  const [missed, passed, hit] = [
    'herdless; fwd=uri-miss; stored',
    'herdless; fwd=uri-miss; detail=pass',
    'herdless; hit; ttl',
  ]
  const same = (text: string): unknown => [
    [200, text, missed],
    [200, text, hit],
  ]
  const all = [
    [200, '1', 'herdless; fwd=uri-miss; detail=undeclared:*'],
    [200, '2', passed],
  ]
  const varied = 'herdless; fwd=vary-miss; stored'
  expect(responses).toEqual({
    page: same('page'),
    field: [
      [200, '1', missed],
      [200, '2', varied],
    ],
    cookie: same('null'),
    clone: all,
    copy: all,
    moved: all,
    classed: all,
    fields: all,
    query: same('GET http://site/'),
    error: 'RangeError: no',
    crowd: ['run 1'],
    stale: [200, 'old', hit],
    fresh: [200, 'new', hit],
    stream: ['run 1', 'herdless; fwd=uri-miss; collapsed'],
    served: ['run 1 de', missed, 'run 2 en', varied, 'run 1 de', hit, 200, '8'],
  })
})

test.each([
  ['Bun', 'bun', []],
  ['Deno', 'deno', ['run', '--allow-all']],
])('on %s the core, responses and contracts say the same as on Node.js', async (_, command, args) => {
  expect(await outcomes('smoke.mjs', join(bin, command), ...args)).toEqual(onNode)
  expect(await outcomes('responses.mjs', join(bin, command), ...args)).toEqual(responses)
  expect(await outcomes('contracts.mjs', join(bin, command), ...args)).toEqual(contracts)
})
