import { deepStrictEqual } from 'node:assert'
import { createSecretKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import { runInNewContext } from 'node:vm'
import * as zlib from 'node:zlib'
import fc from 'fast-check'
import { Packr } from 'msgpackr'
import { describe, expect, it } from 'vitest'
import {
  compressed,
  encrypted,
  msgpackrCodec,
  v8Codec,
  type CompressedOptions,
  type EncryptedOptions,
} from '../../../src/codecs/index.ts'
import { createCache, jsonCodec, type Codec } from '../../../src/index.ts'

const key = randomBytes(32)
const keys = [{ id: 'k1', key }]
const noZstd = !('zstdCompressSync' in zlib)

const msgpackr = (): Codec => msgpackrCodec(new Packr({ moreTypes: true }))
const bases: Record<string, () => Codec> = { jsonCodec, v8Codec, msgpackrCodec: msgpackr }
const wrappers: Record<string, (codec: Codec) => Codec> = {
  'compressed with gzip': (codec) => compressed(codec, { above: 0 }),
  'compressed with brotli': (codec) => compressed(codec, { above: 0, algorithm: 'brotli' }),
  ...(noZstd ? {} : { 'compressed with zstd': (codec: Codec) => compressed(codec, { above: 0, algorithm: 'zstd' }) }),
  'compressed above 1 kB': (codec) => compressed(codec),
  encrypted: (codec) => encrypted(codec, { keys }),
  'encrypted(compressed)': (codec) => encrypted(compressed(codec, { above: 0 }), { keys, context: 'shop' }),
}
const combinations = Object.entries(bases).flatMap(([base, make]) => [
  [base, make()] as const,
  ...Object.entries(wrappers).map(([name, wrap]) => [`${name} of ${base}`, wrap(make())] as const),
])

function stored(codec: Codec, value: unknown): Buffer {
  return Buffer.from(codec.encode(value))
}

function errorOf(work: () => unknown): Error {
  try {
    work()
  } catch (error) {
    return error as Error
  }
  throw new Error('Expected it to throw')
}

function refusalOf(work: () => unknown): string {
  const error = errorOf(work)
  expect(error).toBeInstanceOf(TypeError)
  return error.message
}

function outcomeOf(work: () => unknown): string {
  try {
    work()
    return 'fine'
  } catch (error) {
    return String(error)
  }
}

function expectUnread(codec: Codec, payload: Uint8Array): void {
  expect(outcomeOf(() => codec.decode(Buffer.from(payload)))).toMatch(/^Error: Cannot read a stored value: /)
}

function nested(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = [value]
  return value
}

const bytes = fc.uint8Array({ maxLength: 24 }).map((filled) => Buffer.from(filled))
const property = fc.string({ minLength: 1, unit: 'grapheme' }).filter((name) => name !== '__proto__')

/** Values that all codecs keep, msgpackr too. */
const anything: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, tie('leaf'), tie('list'), tie('map'), tie('set'), tie('record'), tie('run')),
  leaf: fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.boolean(),
    fc.integer(),
    fc.double().map((number) => (number === 0 ? 0 : number)),
    fc.constantFrom(undefined, null, Number.NaN, Number.NEGATIVE_INFINITY),
    fc.bigInt(),
    fc.date({ noInvalidDate: true }),
    bytes,
    fc.float64Array({ maxLength: 4 }),
  ),
  list: fc.array(tie('value'), { maxLength: 4 }),
  map: fc.array(fc.tuple(tie('value'), tie('value')), { maxLength: 4 }).map((entries) => new Map(entries)),
  set: fc.array(tie('value'), { maxLength: 4 }).map((members) => new Set(members)),
  record: fc.array(fc.tuple(property, tie('value')), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
  // What can be compressed.
  run: fc.tuple(fc.string({ unit: 'grapheme' }), fc.nat(400)).map(([text, times]) => text.repeat(times)),
})).value

describe('a value comes back exactly as it went in', () => {
  it.each(combinations)('from %s', (_, codec) => {
    fc.assert(
      fc.property(anything, (value) => {
        const payload = stored(codec, value)
        const back = codec.decode(payload)
        deepStrictEqual(back, value)
        // It shares no memory with the payload.
        const before = inspect(back, { depth: null })
        payload.fill(0)
        expect(inspect(back, { depth: null })).toBe(before)
      }),
      { numRuns: 100 },
    )
  })

  it('from a wrapped codec of ones own', () => {
    const text: Codec = { encode: (value) => new TextEncoder().encode(String(value)), decode: String }
    for (const wrap of Object.values(wrappers)) {
      const codec = wrap(text)
      for (const value of ['', 'a', 'a'.repeat(5_000)]) expect(codec.decode(stored(codec, value))).toBe(value)
    }
  })
})

describe('bytes that another codec wrote', () => {
  const some = [0, 5, 53, 'abc', '!'.repeat(100), null, true, [1]]
  const values = [...some, { a: 1 }, Buffer.from('abc'), new Date(5), 'a'.repeat(5_000)]
  const kinds = [
    ...Object.entries(bases).map(([name, make]) => [name, make()] as const),
    ['compressed', compressed(jsonCodec(), { above: 100 })] as const,
    ['encrypted', encrypted(jsonCodec(), { keys })] as const,
  ]

  it.each(kinds)('are not read by %s', (name, codec) => {
    for (const [other, writer] of kinds) {
      const read = values.map((value) => outcomeOf(() => codec.decode(stored(writer, value))))
      const refused = read.filter((outcome) => outcome.startsWith('Error: Cannot read a stored value: '))
      expect([other, refused.length]).toEqual([other, other === name ? 0 : values.length])
    }
  })

  it.each(kinds)('or by nobody, are read as some value by %s, or end in an Error', (_, codec) => {
    const spoilt = fc.tuple(anything, fc.nat(), fc.nat(255)).map(([value, at, byte]) => {
      const payload = stored(codec, value)
      payload[at % Math.min(payload.length, 40)] = byte
      return payload
    })
    const begun = fc.tuple(anything, fc.uint8Array()).map(([value, more]) => {
      return Buffer.concat([stored(codec, value).subarray(0, 7), more])
    })
    fc.assert(
      fc.property(fc.oneof(spoilt, begun, fc.uint8Array()), (payload) => {
        const outcome = outcomeOf(() => codec.decode(Buffer.from(payload)))
        expect(outcome).toMatch(/^fine$|^Error: Cannot read a stored value: /)
      }),
      { numRuns: 500 },
    )
  })
})

describe('v8Codec', () => {
  const codec = v8Codec()
  const back = (value: unknown): unknown => codec.decode(stored(codec, value))

  it('keeps cycles, and that two references are to one object', () => {
    const value: Record<string, unknown> = { shared: { at: new Date(0) } }
    value['self'] = value
    value['again'] = new Map([[value['shared'], value]])
    const read = back(value) as { self: unknown; shared: unknown; again: Map<unknown, unknown> }
    expect(read.self).toBe(read)
    expect([...read.again]).toEqual([[read.shared, read]])
  })

  it.each([
    ['an error with a cause', new RangeError('no', { cause: new SyntaxError('why') })],
    ['an error of another realm', runInNewContext('new TypeError("no")') as Error],
  ])('keeps %s', (_, error) => {
    const read = back([error]) as [Error]
    expect(read[0].constructor.name).toBe(error.constructor.name)
    expect([read[0].message, read[0].stack]).toEqual([error.message, error.stack])
    expect((read[0].cause as Error | undefined)?.message).toBe((error.cause as Error | undefined)?.message)
  })

  it.each([
    ['minus zero', -0],
    ['lone surrogates', 'a\ud800'],
    ['holes in arrays', [1, , 3]], // oxlint-disable-line no-sparse-arrays
    ['named properties of arrays', Object.assign([1], { more: 2 })],
    ['an own key __proto__', JSON.parse('{"__proto__":{"a":1}}')],
    ['a RegExp', /x+/giu],
    ['an invalid Date', new Date(Number.NaN)],
    ['binary data of each kind', [new Uint8ClampedArray([1]), new DataView(new ArrayBuffer(3)), new ArrayBuffer(2)]],
  ])('keeps %s', (_, value) => {
    expect(inspect(back(value), { depth: null })).toBe(inspect(value, { depth: null }))
  })

  it('gives binary data memory of its own, without the rest of the payload', () => {
    const read = back({ secret: 'x'.repeat(100), data: new Float64Array(2) }) as { data: Float64Array }
    expect(read.data.buffer.byteLength).toBe(16)
  })

  class Money {
    readonly cents = 1
  }
  const hidden = { get: () => 1, enumerable: true }
  const deepCycle: unknown[] = [1_001]
  deepCycle[0] = [deepCycle, () => {}]

  it.each<[string, unknown]>([
    ['a function at value', () => {}],
    ['a function at value.user.onClick', { user: { onClick() {} } }],
    ['a function at value[0][1]', deepCycle],
    ['a symbol at value[1]', [1, Symbol('hunter2')]],
    ['a function at value.values()[0]', new Set([() => 'hunter2'])],
    ['a symbol at value.keys()[1]', new Map<unknown, number>([['a', 1], [Symbol('s'), 2]])], // prettier-ignore
    ['a function at value.values()[0].f', new Map([[1, { f() {} }]])],
    ['an instance of Money at value.total', { total: new Money() }],
    ['an instance of URL at value', new URL('http://localhost')],
    ['an instance of List at value', new (class List extends Array {})()],
    ['an instance of Number at value', Object(1)],
    ['an instance of Promise at value', Promise.resolve()],
    ['an instance of AggregateError at value', new AggregateError([])],
    ['an instance of Failed at value', new (class Failed extends Error {})()],
    ['an instance of TypeError at value', new (class TypeError extends Error {})()],
    ['an instance of Pattern at value', new (class Pattern extends RegExp {})('x')],
    ['a named property of an error at value[0].code', [Object.assign(new Error('no'), { code: 'E' })]],
    ['a function at value.cause.f', new Error('no', { cause: { f() {} } })],
    ['a message that is no text at value.message', Object.assign(new Error('no'), { message: 5 })],
    ['a RegExp with a lastIndex or a property of its own at value', Object.assign(/x/g, { lastIndex: 1 })],
    ['an object without a prototype at value.a', { a: Object.create(null) }],
    ['a proxy at value', new Proxy({}, {})],
    ['an accessor at value.now', Object.defineProperty({}, 'now', hidden)],
    ['an accessor at value[1]', Object.defineProperty([1, 2], 1, hidden)],
    ['a symbol-keyed property at value', { [Symbol('s')]: 1 }],
    ['a symbol-keyed property at value', Object.assign([1], { [Symbol('s')]: 1 })],
    ['an instance of SharedArrayBuffer at value', new SharedArrayBuffer(2)],
    ['an instance of Buffer with a named property at value', Object.assign(Buffer.from('x'), { mime: 'text/plain' })],
  ])('refuses %s', (message, value) => {
    expect(refusalOf(() => codec.encode(value))).toBe(`Cannot store ${message}`)
  })

  it('keeps 1000 levels, and refuses more, however many', () => {
    expect(JSON.stringify(back(nested(1_000)))).toBe(JSON.stringify(nested(1_000)))
    for (const levels of [1_001, 100_000]) {
      expect(refusalOf(() => codec.encode(nested(levels)))).toMatch(/^Cannot store more than 1000 levels of nesting at/)
    }
  })

  it('refuses bytes that are cut short, or of a newer format', () => {
    const payload = stored(codec, { list: [1, 2, 3], text: 'hunter2' })
    for (let length = 0; length < payload.length; length++) expectUnread(codec, payload.subarray(0, length))
    payload[1] = 99
    expect(errorOf(() => codec.decode(payload)).message).toMatch(/not what this codec writes, or of a newer Node\.js$/)
  })
})

describe('msgpackrCodec', () => {
  it.each([
    ['structures', { structures: [] }],
    ['sequential', { sequential: true }],
  ])('refuses a Packr with %s, whose bytes other processes would misread', (_, options) => {
    expect(refusalOf(() => msgpackrCodec(new Packr(options)))).toMatch(/^Expected `packr` to be a Packr that writes/)
  })

  it('takes a Packr whose structures are kept where others find them', () => {
    let saved: object[] = []
    const options = { getStructures: () => saved, saveStructures: (made: object[]) => void (saved = made) }
    const [writer, reader] = [msgpackrCodec(new Packr(options)), msgpackrCodec(new Packr(options))]
    expect(saved).toEqual([])
    const payload = stored(writer, { name: 'Ada' })
    expect(payload.includes('name')).toBe(false)
    expect(reader.decode(payload)).toEqual({ name: 'Ada' })
  })

  it('reads in another process what was written, in whatever order', () => {
    const [writer, reader] = [msgpackr(), msgpackr()]
    reader.encode({ other: 1 })
    for (const value of [{ a: 1, b: 2 }, { c: 3 }, [{ a: 1, b: 2 }, { c: 3 }]]) {
      expect(reader.decode(stored(writer, value))).toEqual(value)
    }
  })

  it('says nothing of a value that cannot be packed, but in the cause', () => {
    const codec = msgpackrCodec(new Packr())
    const error = errorOf(() => codec.encode([2n ** 80n]))
    expect(error.message).toBe('Cannot store the value: pack() of msgpackr threw RangeError')
    expect((error.cause as Error).message).toContain('large')
    const cycle: unknown[] = []
    cycle.push(cycle)
    expect(refusalOf(() => codec.encode(cycle))).toContain('threw RangeError')
    expect(codec.decode(stored(codec, { a: 1 }))).toEqual({ a: 1 })
  })

  it.each([[undefined], [null], [{}], [{ pack() {} }], ['msgpackr']])('refuses %j', (packr) => {
    expect(refusalOf(() => msgpackrCodec(packr as never))).toMatch(/^Expected `packr` to be a Packr of msgpackr, got /)
  })

  it('refuses a Packr that packs to something else', () => {
    const packr = { pack: () => 'text', unpack: () => 1 }
    expect(refusalOf(() => msgpackrCodec(packr as never))).toBe(
      'Expected pack() of msgpackr to return a Uint8Array, got a string',
    )
  })
})

describe('compressed', () => {
  const json = jsonCodec()
  const text = 'All work and no play. '.repeat(500)

  it('leaves values of up to 1 kB as they are, behind one byte', () => {
    const codec = compressed(json)
    const [short, long] = ['a'.repeat(1_022), 'a'.repeat(1_023)]
    expect(stored(codec, short).subarray(1)).toEqual(stored(json, short))
    expect(stored(codec, long).length).toBeLessThan(100)
  })

  it('leaves what cannot be compressed as it is', () => {
    const noise = randomBytes(10_000)
    const codec = compressed(json)
    expect(stored(codec, noise).length).toBe(stored(json, noise).length + 1)
    expect(codec.decode(stored(codec, noise))).toEqual(noise)
  })

  it.each(['gzip', 'brotli', 'zstd'] as const)('with %s makes a text smaller, by its level', (algorithm) => {
    if (algorithm === 'zstd' && noZstd) return
    const rows = JSON.stringify(
      Array.from({ length: 2_000 }, (_, index) => ({ id: index ** 2, name: `n${index % 7}` })),
    )
    const highest = { gzip: 9, brotli: 11, zstd: 19 }[algorithm]
    const [least, usual, most] = [1, undefined, highest].map((level) => {
      return stored(compressed(json, { algorithm, level }), rows).length
    }) as [number, number, number]
    expect(most).toBeLessThan(least)
    expect(usual).toBeLessThan(rows.length / 4)
  })

  it('reads what was written with other options', () => {
    const ways: CompressedOptions[] = [{}, { above: 1e9 }, { algorithm: 'brotli', level: 1 }, { level: 9, above: 0 }]
    if (!noZstd) ways.push({ algorithm: 'zstd' })
    for (const writer of ways) {
      const payload = stored(compressed(json, writer), text)
      for (const reader of ways) expect(compressed(json, reader).decode(payload)).toBe(text)
    }
  })

  it('refuses to write what would not be read again', () => {
    const codec = compressed(json, { maxInflated: 5_000 })
    expect(refusalOf(() => codec.encode('a'.repeat(4_999)))).toBe(
      'Cannot store the value: its 5001 bytes are more than the 5000 that `maxInflated` allows',
    )
    expect(codec.decode(stored(codec, 'a'.repeat(4_998)))).toHaveLength(4_998)
  })

  it('does not inflate a value beyond its own bound', () => {
    const codec = compressed(json, { maxInflated: 5_000 })
    expect(errorOf(() => codec.decode(stored(compressed(json), text))).message).toMatch(
      /inflate to 11002, more than the 5000 that `maxInflated` allows$/,
    )
  })

  it.each(['gzip', 'brotli', 'zstd'] as const)(
    'refuses a bomb packed with %s, whatever length it claims',
    (algorithm) => {
      if (algorithm === 'zstd' && noZstd) return
      const zeros = stored(compressed(json, { algorithm }), Buffer.alloc(50_000_000))
      expect(zeros.length).toBeLessThan(60_000)
      const codec = compressed(json, { maxInflated: 1_000_000 })
      for (const claim of [0, 1, 999_999, 1_000_000]) {
        zeros.writeUInt32BE(claim, 1)
        // Not measured afterwards: zlib has stopped at the bound.
        expect(errorOf(() => codec.decode(zeros)).cause).toMatchObject({ code: 'ERR_BUFFER_TOO_LARGE' })
      }
      for (const claim of [1_000_001, 50_000_001, 2 ** 32 - 1]) {
        zeros.writeUInt32BE(claim, 1)
        expect(errorOf(() => codec.decode(zeros)).message).toMatch(/more than the 1000000 that `maxInflated` allows$/)
      }
    },
  )

  it('says which Node.js has zstd where this one has not', () => {
    if (!noZstd) return
    const message = refusalOf(() => compressed(json, { algorithm: 'zstd' }))
    expect(message).toBe(
      "Expected `algorithm` to be 'gzip' or 'brotli', got \"zstd\" (string): " +
        `Node.js ${process.versions.node} has none in node:zlib; 22.15, 23.8 and newer ones have`,
    )
    expectUnread(compressed(json), Buffer.of(0xfb, 0, 0, 0, 2, 1, 2, 3))
  })

  it.each<[string, unknown]>([
    ["Expected `algorithm` to be 'gzip' or 'brotli' or 'zstd', got \"lz4\" (string)", { algorithm: 'lz4' }],
    ['Expected `level` to be a whole number of at least 1 and at most 9, got 10 (number)', { level: 10 }],
    [
      'Expected `level` to be a whole number of at least 1 and at most 11, got 12 (number)',
      { algorithm: 'brotli', level: 12 },
    ],
    ['Expected `level` to be a whole number of at least 1, got 0 (number)', { level: 0 }],
    ['Expected `above` to be a whole number of at least 0, got "1kb" (string)', { above: '1kb' }],
    ['Expected `maxInflated` to be a whole number of at least 1, got 0 (number)', { maxInflated: 0 }],
    [
      'Expected `maxInflated` to be a whole number of at least 1 and at most 4294967295, got 4294967296 (number)',
      { maxInflated: 2 ** 32 },
    ],
    ['Unknown option `treshold` of compressed; expected one of above, algorithm, level, maxInflated', { treshold: 5 }],
    ['Expected the options of compressed to be an object, got "gzip" (string)', 'gzip'],
  ])('%s', (message, options) => {
    expect(refusalOf(() => compressed(json, options as CompressedOptions))).toBe(message)
  })
})

describe('encrypted', () => {
  const json = jsonCodec()
  const [old, young] = [
    { id: '2025', key: randomBytes(32) },
    { id: '2026', key: randomBytes(32) },
  ]
  const codec = encrypted(json, { keys: [old] })

  it('shows nothing of the value, and never the same bytes twice', () => {
    const payloads = Array.from({ length: 50 }, () => stored(codec, { secret: 'hunter2' }))
    for (const payload of payloads) expect(payload.toString('latin1')).not.toMatch(/secret|hunter2/)
    expect(new Set(payloads.map((payload) => payload.subarray(6, 18).toString('hex'))).size).toBe(50)
    expect(payloads[0]?.length).toBe(stored(json, { secret: 'hunter2' }).length + 30 + old.id.length)
  })

  it('reads under a new key what was written under an old one, as long as it has it', () => {
    const payload = stored(codec, 'value')
    expect(encrypted(json, { keys: [young, old] }).decode(payload)).toBe('value')
    expect(encrypted(json, { keys: [old, young] }).decode(payload)).toBe('value')
    expect(errorOf(() => encrypted(json, { keys: [young] }).decode(payload)).message).toBe(
      'Cannot read a stored value: there is no key with its id, "2025"',
    )
  })

  it('writes under the first key', () => {
    const payload = stored(encrypted(json, { keys: [young, old] }), 'value')
    expect(encrypted(json, { keys: [young] }).decode(payload)).toBe('value')
    expectUnread(codec, payload)
  })

  it('does not read with a wrong key of the right name', () => {
    const wrong = encrypted(json, { keys: [{ id: old.id, key: young.key }] })
    expect(errorOf(() => wrong.decode(stored(codec, 'value'))).message).toMatch(/the key "2025" does not decrypt it/)
  })

  it('does not read a value under the name of another key, even where both are the same bytes', () => {
    const twice = encrypted(json, { keys: ['one', 'two'].map((id) => ({ id, key: old.key })) })
    const payload = stored(twice, 'value')
    expect(twice.decode(payload)).toBe('value')
    payload.write('two', 2)
    expectUnread(twice, payload)
  })

  it('does not read with another context', () => {
    const [shop, admin] = ['shop', 'admin'].map((context) => encrypted(json, { keys, context })) as [Codec, Codec]
    const payload = stored(shop, 'value')
    expect(shop.decode(payload)).toBe('value')
    expectUnread(admin, payload)
    expectUnread(encrypted(json, { keys }), payload)
    // The id and the context stand side by side, and yet are told apart.
    const moved = stored(encrypted(json, { keys: [{ id: 'ab', key }], context: 'c' }), 'value')
    const asOther = Buffer.concat([Buffer.of(moved[0] as number, 1), Buffer.from('a'), moved.subarray(4)])
    expectUnread(encrypted(json, { keys: [{ id: 'a', key }], context: 'bc' }), asOther)
  })

  it('refuses a value with any bit changed, cut anywhere, or with more behind it', () => {
    const payload = stored(codec, 'some value')
    expect(codec.decode(payload)).toBe('some value')
    for (let bit = 0; bit < payload.length * 8; bit++) {
      const changed = Buffer.from(payload)
      changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7))
      expectUnread(codec, changed)
    }
    for (let length = 0; length < payload.length; length++) expectUnread(codec, payload.subarray(0, length))
    expectUnread(codec, Buffer.concat([payload, Buffer.of(0)]))
  })

  it('gives the wrapped codec nothing that was not authenticated', () => {
    const given: unknown[] = []
    const spy: Codec = { encode: () => Buffer.from('abc'), decode: (payload) => given.push(payload) }
    const guarded = encrypted(spy, { keys })
    const payload = stored(guarded, 1)
    payload[payload.length - 1] = (payload.at(-1) as number) ^ 1
    expectUnread(guarded, payload)
    expect(given).toEqual([])
  })

  it('takes a KeyObject, and keeps a copy of bytes', () => {
    const mine = Uint8Array.from(key)
    const ofBytes = encrypted(json, { keys: [{ id: 'k1', key: mine }] })
    mine.fill(0)
    const ofObject = encrypted(json, { keys: [{ id: 'k1', key: createSecretKey(key) }] })
    expect(ofObject.decode(stored(ofBytes, 'value'))).toBe('value')
    expect(ofBytes.decode(stored(ofObject, 'value'))).toBe('value')
  })

  const secret = 'hunter2-hunter2-hunter2-hunter2-'
  const list = 'Expected `keys` to be a list of at least one key, got '
  const ofKey = 'Expected `keys[0].key` to be 32 bytes or a secret KeyObject of 32, got '
  const ofId = 'Expected `keys[0].id` to be a text of 1 to 255 bytes in UTF-8, got '

  it.each<[string, unknown]>([
    ['Expected the options of encrypted to be an object, got a value of type string', secret],
    ['Expected the options of encrypted to be an object, got undefined', undefined],
    ['Unknown option `0` of encrypted; expected one of keys, context', Buffer.from(secret)],
    ['Unknown option `key` of encrypted (did you mean `keys`?); expected one of keys, context', { key: secret }],
    [`${list}undefined`, {}],
    [`${list}a value of type string`, { keys: secret }],
    [`${list}a list of 0`, { keys: [] }],
    [`${list}32 bytes`, { keys: Buffer.from(secret) }],
    ['Expected `keys[0]` to be an object with id and key, got a value of type string', { keys: [secret] }],
    ['Unknown option `secret` of keys[0]; expected one of id, key', { keys: [{ id: 'a', secret }] }],
    [`${ofId}undefined`, { keys: [{ key: secret }] }],
    [`${ofId}32 bytes`, { keys: [{ id: Buffer.from(secret), key: 'a' }] }],
    [`${ofId}a string of 0 characters`, { keys: [{ id: '', key: Buffer.from(secret) }] }],
    [`${ofId}a string of 256 characters`, { keys: [{ id: secret.repeat(8), key }] }],
    [`${ofId}a string of 1 characters`, { keys: [{ id: '\ud800', key }] }],
    [`${ofKey}undefined`, { keys: [{ id: 'a' }] }],
    [`${ofKey}a value of type string`, { keys: [{ id: 'a', key: secret }] }],
    [`${ofKey}31 bytes`, { keys: [{ id: 'a', key: Buffer.from(secret.slice(1)) }] }],
    [`${ofKey}33 bytes`, { keys: [{ id: 'a', key: Buffer.from(`${secret}x`) }] }],
    [`${ofKey}a secret KeyObject of 16 bytes`, { keys: [{ id: 'a', key: createSecretKey(old.key.subarray(16)) }] }],
    [`${ofKey}a public KeyObject`, { keys: [{ id: 'a', key: generateKeyPairSync('ed25519').publicKey }] }],
    [`${ofKey.replace('[0]', '[1]')}a list of 32`, { keys: [keys[0], { id: 'b', key: [...Buffer.from(secret)] }] }],
    [
      'Expected each of `keys` to have an id of its own, got the same at 0 and 1',
      { keys: [key, old.key].map((each) => ({ id: secret, key: each })) },
    ],
    ['Expected `context` to be a text, got 5 (number)', { keys, context: 5 }],
    ['Expected `context` to be a text, got one with half a surrogate pair', { keys, context: '\udc00' }],
  ])('%s', (message, options) => {
    const error = errorOf(() => encrypted(json, options as EncryptedOptions))
    expect(error).toBeInstanceOf(TypeError)
    expect(error.message).toBe(message)
    expect(inspect(error, { showHidden: true, depth: null }).split('\n    at ')[0]).not.toContain('hunter2')
  })

  it('shows nothing of its keys', () => {
    const holder = encrypted(json, { keys: [{ id: 'a', key: Buffer.from(secret) }] })
    expect(inspect(holder, { showHidden: true, depth: null })).not.toMatch(/hunter2|68 75 6e 74/)
  })
})

describe('what wraps a codec', () => {
  const wraps = { compressed, encrypted: (codec: Codec) => encrypted(codec, { keys }) }

  it.each(Object.entries(wraps))(
    'as %s refuses what is none, and says what one did that encodes to something else',
    (_, wrap) => {
      for (const wrong of [undefined, null, 'json', {}, { encode: () => Buffer.of(1) }]) {
        expect(refusalOf(() => wrap(wrong as never))).toMatch(
          /^Expected `codec` to be an object with encode\(\) and decode\(\)/,
        )
      }
      // unit/codec/mistaken-codec.test.ts has every kind.
      const codec = wrap({ encode: () => Promise.reject(new Error('too late')) as never, decode: () => 1 })
      expect(refusalOf(() => codec.encode(1))).toBe(
        'Expected encode() of the wrapped codec to return a Uint8Array, got an instance of Promise',
      )
    },
  )

  it('passes on what the codec refuses, with its path', async () => {
    const cache = createCache({ codec: encrypted(compressed(v8Codec()), { keys }) })
    await expect(cache.set('k', { a: [() => {}] })).rejects.toMatchObject({
      code: 'VALUE_NOT_SERIALIZABLE',
      message: 'The value of "k" cannot be stored: Cannot store a function at value.a[0]',
    })
    const circular: { self?: unknown } = {}
    circular.self = circular
    await cache.set('k', circular)
    const read = (await cache.peek<typeof circular>('k')) as { value: typeof circular }
    expect(read.value.self).toBe(read.value)
    await cache.close()
  })
})
