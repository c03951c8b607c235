import { strict as assert } from 'node:assert'
import { createHash } from 'node:crypto'
import { allBytes, type ClientTest } from './client-scene.ts'

/** Every type of reply, one of them in another. */
const everyReply = `return {ARGV[1], 5, false, {KEYS[1], ARGV[2]}, redis.status_reply('fine'), {err = 'ERR inside'}}`

/** Endings of keys; no two are the same. */
const rests: readonly string[] = [
  [
    '',
    ' ',
    '\0',
    '\r\n',
    '"',
    '\\',
    '*',
    '{',
    '}',
    '{}',
    '{a}',
    '}{',
    ':',
    '0',
    '-0',
    'é',
    'e\u0301',
    '💥',
    '\u{10ffff}',
  ],
  ['k'.repeat(65_536), `${'k'.repeat(65_535)}K`],
].flat()

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
    title: 'keys of every odd kind are each their own, for commands and for scripts',
    async run({ port, key }) {
      const prefix = key()
      for (const [index, rest] of rests.entries()) await port.call('set', prefix + rest, [index, 'PX', 60_000])
      for (const [index, rest] of rests.entries()) {
        assert.equal(String(await port.get(prefix + rest)), String(index))
        const reply = await port.evaluate('eval', "return redis.call('GET', KEYS[1])", [prefix + rest], [])
        assert.equal(String(reply), String(index))
      }
    },
  },
  {
    title: 'keys of many slots are read, and scripts of theirs run, at once',
    async run({ port, slot }) {
      const keys = Array.from({ length: 40 }, () => slot())
      await Promise.all(keys.map((key, index) => port.call('set', key, [index, 'PX', 60_000])))
      const lua = "return {redis.call('GET', KEYS[1]), ARGV[1]}"
      const [values, replies] = await Promise.all([
        Promise.all(keys.map((key) => port.get(key))),
        Promise.all(keys.map((key, index) => port.evaluate('eval', lua, [key], [index]))),
      ])
      for (const [index, value] of values.entries()) {
        assert.equal(String(value), String(index))
        assert.deepEqual((replies[index] as unknown[]).map(String), [String(index), String(index)])
      }
    },
  },
  {
    title: 'the fields of a hash and the members of a set are read byte by byte, those that are missing as null',
    async run({ port, key }) {
      const [hash, set] = [key(), key()]
      await port.call('hset', hash, ['bytes', allBytes, 'number', 12])
      await port.call('zadd', set, [1.5, allBytes])
      for (const each of [hash, set]) await port.call('pexpire', each, [60_000])
      assert.deepEqual(await port.call('hmget', hash, ['bytes', 'none', 'number']), [allBytes, null, Buffer.from('12')])
      assert.deepEqual(await port.call('hget', hash, ['bytes']), allBytes)
      assert.equal(await port.call('hget', hash, ['none']), null)
      assert.deepEqual(await port.call('zrange', set, [0, -1]), [allBytes])
      assert.equal(Number(await port.call('hdel', hash, ['bytes'])), 1)
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
      if (port.refusesWhole === true) {
        const whole = port.evaluate('eval', everyReply, [name], [allBytes, 12_345])
        assert.equal((await scene.refusal(whole)).message, 'ERR inside')
        return
      }
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
    title: 'a script that the server does not know is refused by its digest, and known once it was sent whole',
    async run(scene) {
      const { port } = scene
      const [one, other] = [scene.key(), scene.key()]
      // Nobody has sent this one before: a server that has forgotten all scripts says the same.
      const lua = `return {#KEYS, #ARGV, KEYS[2]} -- ${one}`
      const digest = createHash('sha1').update(lua).digest('hex')
      const byDigest = (): Promise<unknown> => port.evaluate('evalsha', digest, [one, other], ['a'])
      assert.match((await scene.refusal(byDigest())).message, /^NOSCRIPT /)
      for (const run of [() => port.evaluate('eval', lua, [one, other], ['a']), byDigest]) {
        const [keys, args, second] = (await run()) as unknown[]
        assert.deepEqual([Number(keys), Number(args), String(second)], [2, 1, port.keyPrefix + other])
      }
    },
  },
  {
    title: 'of the commands of one tick each has its own reply, though some are refused',
    async run(scene) {
      const { port } = scene
      const [text, list, none] = [scene.key(), scene.key(), scene.key()]
      const refused = port.evaluate('evalsha', '0'.repeat(40), [text], [])
      const replies = await Promise.all([
        port.call('set', text, ['v', 'PX', 60_000]),
        port.call('rpush', list, ['item']),
        port.get(text),
        scene.refusal(refused).then(({ message }) => message.slice(0, 8)),
        port.get(none),
        scene.refusal(port.get(list)).then(({ message }) => message.slice(0, 9)),
        port.evaluate('eval', 'return ARGV[1]', [text], [allBytes]),
        port.call('pexpire', list, [60_000]),
      ])
      const [set, length, value, unknown, nothing, wrongType, bytes, expires] = replies
      assert.deepEqual([String(set), Number(length), String(value), Number(expires)], ['OK', 1, 'v', 1])
      assert.deepEqual([unknown, nothing, wrongType, bytes], ['NOSCRIPT', null, 'WRONGTYPE', allBytes])
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
    title: 'the first commands are answered in their order, though its connection may not be open yet',
    isFresh: true,
    async run({ port, key }) {
      const list = key()
      const lengths = await Promise.all([1, 2, 3].map((number) => port.call('rpush', list, [number])))
      await port.call('pexpire', list, [60_000])
      assert.deepEqual(lengths.map(Number), [1, 2, 3])
    },
  },
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
