// What do the codecs cost beside bare JSON and beside node:v8's structured clone?
//
//   npm run build && node bench/codec.mjs
//
// Microseconds per call: the median (least to most) of nine rounds, the candidates taking turns within a round.
import { deserialize, serialize } from 'node:v8'
import { Packr } from 'msgpackr'

const { jsonCodec } = await import('herdless')
const { compressed, encrypted, msgpackrCodec, v8Codec } = await import(
  new URL('../dist/esm/codecs/index.js', import.meta.url).href
)
const keys = [{ id: 'k1', key: Buffer.alloc(32, 1) }]

/** @typedef {{ encode: (value: unknown) => Uint8Array, decode: (payload: Buffer) => unknown }} Codec */

/** @type {Record<string, Codec>} */
const candidates = {
  JSON: { encode: (value) => Buffer.from(JSON.stringify(value)), decode: (payload) => JSON.parse(payload.toString()) },
  jsonCodec: jsonCodec(),
  'node:v8': { encode: serialize, decode: deserialize },
  v8Codec: v8Codec(),
  msgpackrCodec: msgpackrCodec(new Packr({ moreTypes: true })),
  'compressed, gzip': compressed(jsonCodec()),
  'compressed, brotli': compressed(jsonCodec(), { algorithm: 'brotli' }),
  encrypted: encrypted(jsonCodec(), { keys }),
}

const user = {
  id: 48_213,
  name: 'Grace Hopper',
  email: 'grace.hopper@example.org',
  roles: ['admin', 'author'],
  address: { city: 'Arlington', country: 'US', zip: '22201' },
  active: true,
  score: 98.25,
  note: null,
}
/** @param {number} index */
const row = (index) => ({
  id: index,
  sku: `SKU-${index}`,
  name: `Product number ${index}`,
  price: index * 1.25 + 0.1,
  active: index % 2 === 0,
  tags: ['a', 'b'],
  note: null,
})
/** @param {number} index */
const dated = (index) => ({ ...row(index), created: new Date(1_700_000_000_000 + index) })
/** @param {number} count  @param {(index: number) => unknown} make */
const many = (count, make) => Array.from({ length: count }, (_, index) => make(index))
const values = {
  'object, 200 B': user,
  'rows, 10 kB': many(95, row),
  'numbers, 10 kB': many(1_000, (index) => index * 1.25 + 1_000),
  'text, 10 kB': 'All work and no play. '.repeat(455),
  'object with a Date, 200 B': { ...user, created: new Date() },
  'rows with a Date each, 10 kB': many(72, dated),
  'Buffer, 10 kB': Buffer.alloc(10_000, 7),
}

const rounds = 9
const milliseconds = 40

/** @param {() => unknown} work */
function timed(work) {
  let calls = 0
  const start = performance.now()
  let now = start
  while (now - start < milliseconds) {
    for (let index = 0; index < 20; index++) work()
    calls += 20
    now = performance.now()
  }
  return ((now - start) * 1_000) / calls
}

/** @param {number[]} times */
function shown(times) {
  const sorted = times.toSorted((a, b) => a - b).map((time) => time.toFixed(2))
  return `${sorted[sorted.length >> 1]} (${sorted[0]} to ${sorted.at(-1)})`
}

for (const [what, value] of Object.entries(values)) {
  const lines = Object.entries(candidates).map(([name, { encode, decode }]) => {
    const payload = Buffer.from(encode(value))
    const works = [() => encode(value), () => decode(payload)]
    return { name, bytes: payload.length, works, times: works.map(() => /** @type {number[]} */ ([])) }
  })
  for (const { works } of lines) works.forEach(timed)
  for (let round = 0; round < rounds; round++) {
    for (const { works, times } of lines) works.forEach((work, index) => times[index]?.push(timed(work)))
  }
  console.log(`\n${what}`)
  const table = lines.map(({ name, bytes, times: [encode = [], decode = []] }) => {
    return [name, { bytes, encode: shown(encode), decode: shown(decode) }]
  })
  console.table(Object.fromEntries(table))
}
