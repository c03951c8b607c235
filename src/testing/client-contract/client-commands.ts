import { strict as assert } from 'node:assert'
import { allBytes, type ClientTest } from './client-scene.ts'

/** Every type of reply, one of them in another. */
const everyReply = `return {ARGV[1], 5, false, {KEYS[1], ARGV[2]}, redis.status_reply('fine'), {err = 'ERR inside'}}`

/** Commands and their replies. */
export const commands: readonly ClientTest[] = [
  {
    title: 'a string is read byte by byte as it was written, and a missing one as null',
    async run(scene) {
      const { port } = scene
      const [present, empty] = [scene.key(), scene.key()]
      await port.call('set', present, [allBytes, 'PX', 60_000])
      await port.call('set', empty, ['', 'PX', 60_000])
      assert.deepEqual(await port.get(present), allBytes)
      assert.deepEqual(await port.get(empty), Buffer.alloc(0))
      assert.equal(await port.get(scene.key()), null)
    },
  },
  {
    title: 'several strings are read in the order of their keys',
    async run(scene) {
      const { port } = scene
      if (port.isCluster) return
      const keys = [scene.key(), scene.key(), scene.key()] as const
      await port.call('set', keys[0], ['first', 'PX', 60_000])
      await port.call('set', keys[2], [allBytes, 'PX', 60_000])
      assert.deepEqual(await port.mget([...keys]), [Buffer.from('first'), null, allBytes])
    },
  },
  {
    title: 'an error reply is an error with its text, and known as a reply',
    async run(scene) {
      const list = scene.key()
      await scene.port.call('rpush', list, ['item'])
      await scene.port.call('pexpire', list, [60_000])
      assert.match((await scene.refusal(scene.port.get(list))).message, /^WRONGTYPE /)
      const unknown = scene.port.evaluate('evalsha', '0'.repeat(40), [list], [])
      assert.match((await scene.refusal(unknown)).message, /^NOSCRIPT /)
      assert.match((await scene.refusal(scene.port.call('pexpire', list, ['soon']))).message, /^ERR /)
    },
  },
  {
    title: 'other errors are not known as replies',
    async run({ port }) {
      const system = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' })
      for (const error of [new Error('Connection is closed.'), system, new TypeError('Wrong'), null, 'ERR text']) {
        assert.equal(port.isReply(error), false)
      }
    },
  },
  {
    title: 'the reply of a script has Buffers, numbers, nulls, lists, statuses and errors in it',
    async run(scene) {
      const { port } = scene
      const name = scene.key()
      const reply = await port.evaluate('eval', everyReply, [name], [allBytes, 12_345])
      assert(Array.isArray(reply))
      const [bytes, number, nothing, list, status, error] = reply as unknown[]
      assert.deepEqual(bytes, allBytes)
      assert.equal(Number(number), 5)
      assert.equal(nothing, null)
      assert.deepEqual(list, [Buffer.from(port.keyPrefix + name), Buffer.from('12345')])
      assert.equal(String(status), 'fine')
      assert(error instanceof Error)
      assert.equal(error.message, 'ERR inside')
    },
  },
  {
    title: 'a script has as many keys as it was given, and runs by its digest once the server knows it',
    async run(scene) {
      const { port } = scene
      const lua = 'return {#KEYS, #ARGV, KEYS[2]}'
      const [one, other] = [scene.key(), scene.key()]
      const digest = String(await port.call('script', null, ['LOAD', lua]))
      // In a cluster only the node that ran it is sure to know it.
      await port.evaluate('eval', lua, [one, other], ['a'])
      const reply = await port.evaluate('evalsha', digest.match(/^\w{40}$/) ? digest : '', [one, other], ['a'])
      const [keys, args, second] = reply as unknown[]
      assert.deepEqual([Number(keys), Number(args), String(second)], [2, 1, port.keyPrefix + other])
    },
  },
  {
    title: 'the commands of one tick are executed in their order',
    async run(scene) {
      const { port } = scene
      const list = scene.key()
      const numbers = Array.from({ length: 50 }, (_, index) => index)
      const lengths = await Promise.all(numbers.map((number) => port.call('rpush', list, [number])))
      await port.call('pexpire', list, [60_000])
      assert.deepEqual(
        lengths.map(Number),
        numbers.map((number) => number + 1),
      )
      const items = (await port.call('lrange', list, [0, -1])) as unknown[]
      assert.deepEqual(items.map(Number), numbers)
    },
  },
  {
    title: 'the time of the server is two numbers',
    async run({ port }) {
      const [seconds, micros] = (await port.call('time', null, [])) as unknown[]
      assert(Number(seconds) > 1_600_000_000 && Number(micros) < 1_000_000)
    },
  },
  {
    title: 'one of the nodes lists a key, by the name that it has in Redis',
    async run(scene) {
      const { port } = scene
      const name = scene.key()
      await port.call('set', name, ['value', 'PX', 60_000])
      const nodes = port.nodes()
      assert.equal(new Set(nodes.map((node) => node.name)).size, nodes.length)
      const found: string[] = []
      for (const node of nodes) {
        let cursor = '0'
        do {
          const [next, names] = (await node.call('scan', [cursor, 'COUNT', 1_000])) as [unknown, unknown[]]
          cursor = String(next)
          found.push(...names.map(String))
        } while (cursor !== '0')
      }
      assert(found.includes(port.keyPrefix + name))
    },
  },
]

/** The connection of commands. */
export const connection: readonly ClientTest[] = [
  {
    title: 'its first connection is no longer under way soon after it has answered',
    async run(scene) {
      await scene.port.connected
      await scene.until('the first connection is over', () => scene.port.connected === undefined)
    },
  },
  {
    title: 'a connection that was killed is replaced, which is reported until nobody listens',
    async run(scene) {
      const { port } = scene
      if (port.isCluster) return
      let [heard, stopped] = [0, 0]
      const stop = port.on('ready', () => heard++)
      port.on('ready', () => stopped++)()
      const id = Number(await port.call('client', null, ['ID']))
      // Its reply may be lost with the connection, or an adapter may repeat it.
      await port.call('client', null, ['KILL', 'ID', id, 'SKIPME', 'no']).catch(() => undefined)
      await scene.until('a new connection is reported', () => heard > 0)
      stop()
      assert.equal(await port.get(scene.key()), null)
      assert.equal(stopped, 0)
    },
  },
]
