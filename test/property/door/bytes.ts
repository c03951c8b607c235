import fc from 'fast-check'
import { jsonCodec } from '../../../src/core/codec/codec.ts'
import { areSame, samples } from './values.ts'

const codec = jsonCodec()

const evil = fc.constantFrom(
  '{"__proto__":{"polluted":"yes"}}',
  '{"constructor":{"prototype":{"polluted":"yes"}}}',
  '["~O",{"__proto__":["~O",{"polluted":"~u"}]}]',
  '["~M","__proto__",{"__proto__":{"polluted":"~n"}}]',
  '{"a":{"__proto__":["~S",{"__proto__":{"polluted":1}}]}}',
  '{"toJSON":"~u","then":"~u","length":"~z"}',
  '{"__proto__":"~u"}',
  '["~O",["~O",{}]]',
  '"~b__proto__:AAAA"',
  '"~bconstructor:AAAA"',
  '"~bFloat64Array:AAAA"',
  '"~i"',
  '"~i-1"',
  '"~j0"',
  `"~i${'f'.repeat(5_000)}"`,
  '"~d"',
  '"~d1e400"',
  '-0',
  '1e999',
  '"\\ud800"',
  '['.repeat(3_000),
  '['.repeat(3_000) + ']'.repeat(3_000),
  `${'["~S",'.repeat(3_000)}1${']'.repeat(3_000)}`,
  `${'{"a":'.repeat(3_000)}1${'}'.repeat(3_000)}`,
)

const tag = fc
  .tuple(
    fc.constantFrom(...'~undbijzpmMSOx? '.split('')),
    fc.oneof(fc.string(), fc.constantFrom('', 'Buffer:', 'DataView:AA==')),
  )
  .map(([letter, rest]) => `~${letter}${rest}`)
const tagLike: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  tree: fc.oneof({ maxDepth: 4 }, tag, fc.jsonValue({ maxDepth: 1 }), tie('list'), tie('record')),
  list: fc
    .tuple(fc.constantFrom('~M', '~S', '~O', '~~', 1), fc.array(tie('tree'), { maxLength: 4 }))
    .map(([name, rest]) => [name, ...rest]),
  record: fc
    .array(fc.tuple(fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor')), tie('tree')), { maxLength: 3 })
    .map((entries) => Object.fromEntries(entries)),
})).tree

/** What the default codec writes. */
const payload = samples.filter((sample) => sample.storable).map(({ value }) => Buffer.from(codec.encode(value)))

/** Some bytes, as somebody else might have left them. */
export const noise: fc.Arbitrary<Buffer> = fc
  .oneof(fc.uint8Array({ maxLength: 100 }), fc.uint8Array({ minLength: 40, maxLength: 60 }))
  .map((bytes) => Buffer.from(bytes))

/** How bytes are spoilt: some changed, cut off, doubled, or put in between. */
export type Spoiling = (bytes: Buffer) => Buffer

export const spoilings: fc.Arbitrary<Spoiling> = fc.oneof(
  { arbitrary: fc.tuple(fc.nat(), fc.nat(7)).map(([at, bit]) => flipped(at, bit)), weight: 4 },
  fc.tuple(fc.nat(), fc.nat(255)).map(([at, byte]) => written(at, Uint8Array.of(byte))),
  fc.tuple(fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 9 })).map(([at, bytes]) => written(at, bytes)),
  fc.nat().map((at) => (bytes: Buffer) => bytes.subarray(0, at % (bytes.length + 1))),
  fc.nat().map((at) => (bytes: Buffer) => bytes.subarray(at % (bytes.length + 1))),
  noise.map((more) => (bytes: Buffer) => Buffer.concat([bytes, more])),
  noise.map((more) => (bytes: Buffer) => Buffer.concat([more, bytes])),
  fc.constant((bytes: Buffer) => Buffer.concat([bytes, bytes])),
)

function flipped(at: number, bit: number): Spoiling {
  return (bytes) => {
    const spoilt = Buffer.from(bytes)
    if (spoilt.length > 0) spoilt.writeUInt8(spoilt.readUInt8(at % spoilt.length) ^ (1 << bit), at % spoilt.length)
    return spoilt
  }
}

function written(at: number, what: Uint8Array): Spoiling {
  return (bytes) => {
    const spoilt = Buffer.from(bytes)
    spoilt.set(what.subarray(0, spoilt.length - (at % (spoilt.length + 1))), at % (spoilt.length + 1))
    return spoilt
  }
}

/** Bytes to be decoded: noise, tags that make no sense, and payloads that were spoilt. */
export const payloads: fc.Arbitrary<Buffer> = fc.oneof(
  noise,
  fc.tuple(fc.nat(12), noise).map(([marker, bytes]) => Buffer.concat([Buffer.of(marker), bytes])),
  fc
    .tuple(fc.constantFrom('', '\u0003'), fc.oneof(evil, fc.json()))
    .map(([marker, text]) => Buffer.from(marker + text)),
  tagLike.map((tree) => Buffer.from(`\u0003${JSON.stringify(tree)}`)),
  fc.tuple(payload, spoilings).map(([bytes, spoil]) => spoil(bytes)),
)

/** What is wrong with how the default codec reads some bytes; `null` for nothing. */
export function wronglyRead(bytes: Buffer): unknown {
  let value: unknown
  try {
    value = codec.decode(Buffer.from(bytes))
  } catch (error) {
    const { constructor, message, cause } = error as Error
    const isRefusal = /^Cannot read a stored value: [^]{1,100}$/.test(message)
    return constructor === Error && cause === undefined && isRefusal ? null : error
  }
  try {
    // What has been read is a value like any other: it can be stored, unless it is too deep for that, and read again.
    return areSame(codec.decode(Buffer.from(codec.encode(value))), value) ? null : { value }
  } catch (error) {
    return (error as Error).message.startsWith('Cannot store more than 1000 levels') ? null : error
  }
}
