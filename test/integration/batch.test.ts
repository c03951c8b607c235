import { createHash, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Batch } from '../../src/redis/connection/batch.ts'
import type { Script } from '../../src/redis/scripts.ts'
import { Reader } from '../../src/redis/values/reader.ts'
import { portOf } from '../../src/redis/clients/redis-client.ts'
import { CommandCounter } from '../support/command-counts.ts'
import { disconnect, nodeRedis, type OpenClient } from '../support/node-redis.ts'
import { startRedis, type RedisServer } from '../support/servers.ts'

const lua = `
local answers = {}
for each = 1, ARGV[1] do
  local answer = ARGV[each + 1]
  answers[each] = answer == 'bad' and {err = 'ERR of ' .. KEYS[each]} or {answer, each}
end
return answers
`
const script = scriptOf('answer', lua)
const shared = scriptOf(
  'shared',
  `
local answers = {}
for each = 1, ARGV[1] do answers[each] = {KEYS[1], ARGV[2], KEYS[each + 1], ARGV[each + 2]} end
return answers
`,
)

function scriptOf(name: string, text: string): Script {
  return { name, lua: text, sha1: createHash('sha1').update(text).digest('hex') }
}

describe('a batch', () => {
  let server: RedisServer
  let counter: CommandCounter
  const clients: OpenClient[] = []

  beforeAll(async () => {
    server = await startRedis()
    for (const each of [script, shared]) await server.client.script('LOAD', each.lua)
    counter = await CommandCounter.start(server.client)
  })

  afterAll(async () => {
    for (const client of clients) disconnect(client)
    counter.stop()
    await server.stop()
  })

  type Login = { readonly username?: string; readonly password?: string }

  const kinds: [string, (login: Login) => OpenClient][] = [
    ['ioredis', (login) => new Redis({ ...server.address, ...login })],
    ['node-redis', (login) => nodeRedis({ url: server.url, ...login })],
  ]

  async function open(make: (login: Login) => OpenClient, login: Login = {}, its = script): Promise<Batch> {
    const client = make(login)
    clients.push(client)
    const port = portOf(client)
    await port.call('ping', null, [])
    return new Batch(port, its)
  }

  function ask(batch: Batch, answers: readonly string[], keys = answers): Promise<unknown[]> {
    const runs = answers.map((answer, index) => batch.run([keys[index] as string], [answer]))
    return Promise.all(
      runs.map((run) =>
        run.then(
          (reply) => String((reply as unknown[])[0]),
          (error: Error) => error.message,
        ),
      ),
    )
  }

  test.for(kinds)('of runs of one tick is one command, and each has its own answer or error: %s', async ([, make]) => {
    const batch = await open(make)
    await counter.reset()
    expect(await ask(batch, ['a', 'bad', 'c'], ['k1', 'k2', 'k3'])).toEqual(['a', 'ERR of k2', 'c'])
    expect(await counter.counts()).toEqual({ evalsha: 1 })
    expect(await ask(batch, ['bad'], ['k4'])).toEqual(['ERR of k4'])
  })

  test.for(kinds)('that is refused because of one goes out one by one: %s', async ([, make]) => {
    const username = randomUUID()
    await server.client.call('ACL', 'SETUSER', username, 'on', 'nopass', '~k*', '&*', '+@all')
    const batch = await open(make, { username, password: 'any' })
    const [first, second, third] = await ask(batch, ['a', 'b', 'c'], ['k1', 'not mine', 'k3'])
    expect([first, third]).toEqual(['a', 'c'])
    expect(second).toMatch(/^NOPERM/)
  })

  test.for(kinds)('of reads that is refused because of one goes out one by one: %s', async ([, make]) => {
    const username = randomUUID()
    await server.client.call('ACL', 'SETUSER', username, 'on', 'nopass', '~k*', '&*', '+@all')
    await server.client.mset({ k1: 'a', k3: 'c' })
    const client = make({ username, password: 'any' })
    clients.push(client)
    const reader = new Reader(portOf(client))
    const reads = ['k1', 'not mine', 'k3'].map((key) => reader.read(key, String))
    const [first, second, third] = await Promise.allSettled(reads)
    expect([first, third]).toMatchObject([{ value: 'a' }, { value: 'c' }])
    expect(second).toMatchObject({ reason: { message: expect.stringMatching(/^NOPERM/) } })
  })

  test('tells an error by its code where the server puts the line of the script before it', async () => {
    const eachKey = await readFile('src/redis/lua/shared/each-key.lua', 'utf8')
    // As Redis 6 words what `redis.call` raises.
    const raised = "@user_script: 44: -OOM command not allowed when used memory > 'maxmemory'."
    const run = server.client.eval(`${eachKey}\nreturn eachKey(function() error(ARGV[2], 0) end, 0, 1)`, 0, 1, raised)
    await expect(run).rejects.toThrow(/^OOM command/)
  })

  test('sends what runs have in common once, and apart where that differs', async () => {
    const batch = await open(kinds[0]?.[1] as (login: Login) => OpenClient, {}, shared)
    await counter.reset()
    const run = (key: string, namespace: string): Promise<unknown> =>
      batch.run([key], ['mine'], { keys: [namespace], args: [`of ${namespace}`] })
    const replies = await Promise.all([run('k1', 'n1'), run('k2', 'n2'), run('k3', 'n1')])
    expect(replies.map(String)).toEqual(['n1,of n1,k1,mine', 'n2,of n2,k2,mine', 'n1,of n1,k3,mine'])
    expect(await counter.counts()).toEqual({ evalsha: 2 })
  })

  test('is split where it is too long', async () => {
    const batch = await open(kinds[0]?.[1] as (login: Login) => OpenClient)
    const many = Array.from({ length: 250 }, (_, index) => `k${index}`)
    await counter.reset()
    expect(await ask(batch, many)).toEqual(many)
    expect(await counter.counts()).toEqual({ evalsha: 3 })
    await counter.reset()
    const large = Array.from({ length: 5 }, () => Buffer.alloc(500_000, 'x'))
    await Promise.all(large.map((bytes) => batch.run(['k'], [bytes])))
    expect(await counter.counts(), 'two of half a megabyte each go together').toEqual({ evalsha: 3 })
  })
})
