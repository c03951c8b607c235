import * as zlib from 'node:zlib'
import { checkOptions, oneOf, shape, integer } from '../core/options/checks.ts'
import type { Codec } from '../core/codec/codec.ts'
import { bytesReturned } from './returned.ts'

/** The options of `compressed`. */
export interface CompressedOptions {
  /** The largest encoded value that is stored uncompressed, in bytes. Default 1024. */
  readonly above?: number | undefined
  /** `'gzip'` (default), `'brotli'`, or `'zstd'`, which `node:zlib` supports since Node.js 22.15 and 23.8. */
  readonly algorithm?: 'gzip' | 'brotli' | 'zstd' | undefined
  /** The compression level: gzip 1 to 9 (default 6), brotli 1 to 11 (default 4), zstd 1 to 22 (default 3). */
  readonly level?: number | undefined
  /**
   * The largest uncompressed value, in bytes: a larger one is refused when written, and never inflated when read.
   * Default 64 MiB (67108864), at most 4 GiB - 1.
   */
  readonly maxInflated?: number | undefined
}

interface Packing {
  readonly mark: number
  readonly level: number
  readonly highest: number
  readonly pack: (bytes: Uint8Array, level: number) => Buffer
  readonly unpack: (bytes: Uint8Array, options: { maxOutputLength: number }) => Buffer
}

/** The part of `node:zlib` that the oldest supported Node.js lacks. */
interface Zstd {
  readonly zstdCompressSync?: (bytes: Uint8Array, options: { params: Record<number, number> }) => Buffer
  readonly zstdDecompressSync?: Packing['unpack']
  readonly constants: { readonly ZSTD_c_compressionLevel?: number }
}

const { zstdCompressSync, zstdDecompressSync, constants } = zlib as unknown as Zstd
const { BROTLI_PARAM_QUALITY: brotliLevel, BROTLI_PARAM_SIZE_HINT: brotliSize } = zlib.constants
const zstdLevel = constants.ZSTD_c_compressionLevel ?? 0

// A packed value is a mark, its inflated length in 4 bytes, and the compressed bytes. An unpacked value is a mark and
// its bytes. No mark begins a UTF-8 text or a value of another codec of this library.
const notPacked = 0xf8
const headerLength = 5
const longest = 2 ** 32 - 1

const packings: Record<'gzip' | 'brotli' | 'zstd', Packing | null> = {
  gzip: {
    mark: 0xf9,
    level: 6,
    highest: 9,
    pack: (bytes, level) => zlib.gzipSync(bytes, { level }),
    unpack: zlib.gunzipSync,
  },
  brotli: {
    mark: 0xfa,
    // The default of Node.js, 11, takes a hundred times as long.
    level: 4,
    highest: 11,
    pack: (bytes, level) =>
      zlib.brotliCompressSync(bytes, { params: { [brotliLevel]: level, [brotliSize]: bytes.byteLength } }),
    unpack: zlib.brotliDecompressSync,
  },
  zstd:
    zstdCompressSync === undefined || zstdDecompressSync === undefined
      ? null
      : {
          mark: 0xfb,
          level: 3,
          highest: 22,
          pack: (bytes, level) => zstdCompressSync(bytes, { params: { [zstdLevel]: level } }),
          unpack: zstdDecompressSync,
        },
}

/**
 * A codec that compresses the bytes of another codec if that makes them smaller. It reads values written with any
 * options, within `maxInflated`. Like every codec it is synchronous, and blocks the process meanwhile.
 * @throws TypeError for another kind of object, a wrong option, or an algorithm that this Node.js lacks
 */
export function compressed(codec: Codec, options: CompressedOptions = {}): Codec {
  shape('an object with encode() and decode()', ['encode', 'decode'])('codec', codec)
  const given: CompressedOptions = checkOptions('compressed', options, {
    above: integer(0),
    algorithm: oneOf(...Object.keys(packings)),
    // Its range depends on the algorithm.
    level: (_, value) => value,
    maxInflated: integer(1, longest),
  })
  const { above = 1_024, algorithm = 'gzip', maxInflated = 64 * 2 ** 20 } = given
  const packing = packings[algorithm]
  if (packing === null) {
    const why = `Node.js ${process.versions.node} has none in node:zlib; 22.15, 23.8 and newer ones have`
    throw new TypeError(`Expected \`algorithm\` to be 'gzip' or 'brotli', got "zstd" (string): ${why}`)
  }
  const { level = packing.level } = given
  integer(1, packing.highest)('level', level)
  return {
    encode: (value) => {
      const bytes = bytesReturned('encode() of the wrapped codec', codec.encode(value))
      // A reader could not tell it from a decompression bomb, and would load it again and again.
      if (bytes.byteLength > maxInflated) {
        const size = `its ${bytes.byteLength} bytes are more than the ${maxInflated} that \`maxInflated\` allows`
        throw new TypeError(`Cannot store the value: ${size}`)
      }
      return (bytes.byteLength > above && packed(bytes, packing, level)) || Buffer.concat([Buffer.of(notPacked), bytes])
    },
    decode: (payload) => codec.decode(payload[0] === notPacked ? payload.subarray(1) : inflated(payload, maxInflated)),
  }
}

/** The packed bytes; `null` if packing makes them no smaller. */
function packed(bytes: Uint8Array, packing: Packing, level: number): Buffer | null {
  const made = packing.pack(bytes, level)
  if (headerLength + made.length >= 1 + bytes.byteLength) return null
  const header = Buffer.of(packing.mark, 0, 0, 0, 0)
  header.writeUInt32BE(bytes.byteLength, 1)
  return Buffer.concat([header, made])
}

function inflated(payload: Buffer, maxInflated: number): Buffer {
  const packing = Object.values(packings).find((each) => each?.mark === payload[0])
  const unread = `Cannot read a stored value: its ${payload.length} bytes`
  if (!packing || payload.length <= headerLength) {
    throw new Error(`${unread} are not what this codec writes, or are packed in a way that this Node.js does not know`)
  }
  const length = payload.readUInt32BE(1)
  if (length > maxInflated) {
    throw new Error(`${unread} inflate to ${length}, more than the ${maxInflated} that \`maxInflated\` allows`)
  }
  let bytes: Buffer
  try {
    bytes = packing.unpack(payload.subarray(headerLength), { maxOutputLength: Math.max(1, length) })
  } catch (cause) {
    throw new Error(`${unread} do not inflate to the ${length} that they should`, { cause })
  }
  // Some versions of zlib accept truncated input.
  if (bytes.length !== length) throw new Error(`${unread} inflate to ${bytes.length}, not to ${length}`)
  return bytes
}
