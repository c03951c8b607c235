import { shape } from '../core/options/checks.ts'
import type { Codec } from '../core/codec/codec.ts'
import { bytesReturned } from './returned.ts'

/** What is used of a `Packr` of msgpackr. It stays the user's: it is never configured. */
export interface MessagePacker {
  pack(value: unknown): Uint8Array
  unpack(bytes: Uint8Array): unknown
}

// The one byte that MessagePack never uses: no other codec can take these bytes for its own, nor this one theirs.
const mark = 0xc1

/**
 * A codec by msgpackr: few bytes, fast. What comes back, and what changes on the way, is up to the options of the
 * `Packr`: `new Packr({ moreTypes: true })` keeps the most.
 * @param packr all processes must have one with the same options, without `structures` that only one process knows
 * @throws TypeError for something that is not a Packr, or whose bytes another process could not read
 */
export function msgpackrCodec(packr: MessagePacker): Codec {
  shape('a Packr of msgpackr', ['pack', 'unpack'])('packr', packr)
  refusePrivateStructures(packr)
  return {
    encode: (value) => {
      const packed = bytesReturned('pack() of msgpackr', pack(packr, value))
      return Buffer.concat([Buffer.of(mark), packed])
    },
    decode: (payload) => {
      try {
        // A copy: what is unpacked are views of what is packed.
        if (payload[0] === mark) return packr.unpack(Buffer.from(payload.subarray(1)))
      } catch {
        // No cause: what is thrown may quote the value, and values have no business in logs.
      }
      throw new Error(`Cannot read a stored value: its ${payload.length} bytes are not what this codec writes`)
    },
  }
}

function pack(packr: MessagePacker, value: unknown): unknown {
  try {
    return packr.pack(value)
  } catch (error) {
    // What msgpackr says may quote the value: it is the cause, for the process of the caller alone.
    const name = error instanceof Error ? error.name : typeof error
    throw new TypeError(`Cannot store the value: pack() of msgpackr threw ${name}`, { cause: error })
  }
}

/**
 * With `structures` or `sequential` the names of properties are not in the bytes but in the memory of the process. Another
 * one would read nothing, or, with structures of its own under the same numbers, values under wrong names.
 */
function refusePrivateStructures(packr: MessagePacker & { getStructures?: unknown }): void {
  // They are kept where others find them.
  if (typeof packr.getStructures === 'function') return
  const probe = { herdless: true }
  pack(packr, probe)
  const second = pack(packr, probe)
  if (Buffer.from(bytesReturned('pack() of msgpackr', second)).includes('herdless')) return
  const wanted = 'a Packr that writes the names of properties into each value, without `structures` and `sequential`'
  throw new TypeError(`Expected \`packr\` to be ${wanted}, got one that keeps them to itself`)
}
