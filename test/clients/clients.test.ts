import { createHash, randomUUID } from 'node:crypto'
import { GlideClient } from '@valkey/valkey-glide'
import { Redis as Upstash } from '@upstash/redis'
import { Redis as Iovalkey } from 'iovalkey'
import { expect, inject, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { Batch } from '../../src/redis/connection/batch.ts'
import { portOf } from '../../src/redis/clients/redis-client.ts'
import { redisLock, redisStore, type IoredisClient } from '../../src/redis/index.ts'
import { clientContract, lockContract, storeContract } from '../../src/testing/index.ts'

const timeout = 60_000

async function glide(more: object = {}): Promise<GlideClient> {
  const { hostname: host, port } = new URL(inject('redisUrl'))
  return await GlideClient.createClient({ addresses: [{ host, port: Number(port) }], requestTimeout: timeout, ...more })
}

const iovalkey = (): IoredisClient & { disconnect(): void } => new Iovalkey(inject('redisUrl')) as never

clientContract({
  name: 'GLIDE',
  test,
  open: async () => {
    const client = await glide()
    return { port: portOf(client), close: async () => client.close() }
  },
  timeout,
})

clientContract({
  name: 'iovalkey',
  test,
  open: async () => {
    const client = iovalkey()
    return { port: portOf(client), close: async () => client.disconnect() }
  },
  timeout,
})

for (const wakeUp of ['push', 'poll'] as const) {
  storeContract({
    name: `GLIDE, ${wakeUp}`,
    test,
    pushes: wakeUp === 'push',
    open: async () => {
      const clients = [await glide(), await glide()]
      return {
        stores: clients.map((client) => redisStore(client, { wakeUp })),
        close: async () => clients.forEach((client) => client.close()),
      }
    },
    timeout,
  })
}

storeContract({
  name: 'iovalkey',
  test,
  pushes: true,
  open: async () => {
    const clients = [iovalkey(), iovalkey()]
    return {
      stores: clients.map((client) => redisStore(client)),
      close: async () => clients.forEach((client) => client.disconnect()),
    }
  },
  timeout,
})

lockContract({
  name: 'GLIDE',
  test,
  open: async () => {
    const clients = [await glide(), await glide()]
    const [port] = clients.map(portOf)
    return {
      locks: clients.map((client) => redisLock(client, { commandTimeout: timeout })),
      waiting: async (lock) => Number(await port?.call('zcard', `{lock:${lock}}:queue`, [])),
      close: async () => clients.forEach((client) => client.close()),
    }
  },
  timeout,
})

test('GLIDE: of what one tick asks for, one key that is refused leaves the others alone', async () => {
  const client = await glide()
  const port = portOf(client)
  const lua = "local all = {} for i = 1, ARGV[1] do all[i] = redis.pcall('GET', KEYS[i]) end return all"
  const script = { name: 'each', lua, sha1: createHash('sha1').update(lua).digest('hex') }
  const slot = randomUUID()
  const [one, list, other] = [`{${slot}}one`, `{${slot}}list`, `{${slot}}other`] as const
  try {
    await port.call('rpush', list, ['item'])
    await port.call('pexpire', list, [60_000])
    const batch = new Batch(port, script)
    const replies = await Promise.allSettled([one, list, other].map((key) => batch.run([key], [])))
    expect(replies.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  } finally {
    client.close()
  }
})

test('GLIDE: a subscription whose connection was replaced is lost, and is back on another one', async () => {
  const name = `herdless-${randomUUID()}`
  const client = await glide({ clientName: name })
  const port = portOf(client)
  const events: string[] = []
  const subscriber = port.subscriber(`herdless:inbox:${name}`, {
    opened: () => void events.push('opened'),
    lost: () => void events.push('lost'),
    failed: () => undefined,
    message: (message) => void events.push(String(message)),
  })
  try {
    await until('it is open', () => events.length > 0)
    await subscriber.subscribe()
    const list = String(await port.call('client', null, ['LIST', 'TYPE', 'pubsub']))
    const line = list.split('\n').find((each) => each.includes(`name=${name} `)) ?? ''
    await port.call('client', null, ['KILL', 'ID', /^id=(\d+)/.exec(line)?.[1] ?? ''])
    await until('the loss is noticed', async () => {
      await subscriber.subscribe().catch(() => undefined)
      return events.includes('lost')
    })
    await until('it is open again', () => events.at(-1) === 'opened')
    await subscriber.subscribe()
    await port.call('publish', null, [`herdless:inbox:${name}`, 'message'])
    await until('a message arrives', () => events.includes('message'))
    expect(events).toEqual(['opened', 'lost', 'opened', 'message'])
  } finally {
    subscriber.close()
    client.close()
  }
})

test.each([
  ['a client of a cluster', { invokeScriptWithRoute: () => undefined }, 'got a GlideClusterClient'],
  ['one that reads from replicas', { config: { readFrom: 'preferReplica' } }, 'got "preferReplica"'],
  ['one that keeps what it has read', { config: { clientSideCache: {} } }, 'without `clientSideCache`'],
])('GLIDE: %s is refused at once', async (_, members, message) => {
  const client = await glide()
  try {
    expect(() => redisStore(Object.assign(Object.create(client) as GlideClient, members))).toThrow(message)
  } finally {
    client.close()
  }
})

test('the REST client of Upstash is refused at once', () => {
  const client = new Upstash({ url: 'https://none.invalid', token: 'none' })
  for (const make of [redisStore, redisLock])
    expect(() => make(client as never)).toThrow('The REST client of Upstash cannot send or receive bytes')
})
