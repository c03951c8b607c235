import { shape } from '../core/options/checks.ts'
import type { Codec } from '../core/codec/codec.ts'
import { bytesReturned } from './returned.ts'

/** The required methods of a `Packr` of msgpackr. It belongs to the user: the codec never configures it. */
export interface MessagePacker {
  pack(value: unknown): Uint8Array
  unpack(bytes: Uint8Array): unknown
}

// The one byte that MessagePack never uses, so that no other codec takes these bytes for its own, nor this codec
// theirs.
const mark = 0xc1

/**
 * A codec with msgpackr: few bytes, fast. The options of the `Packr` decide which values are restored exactly; `new
 * Packr({ moreTypes: true })` restores most.
 * @param packr must have the same options in all processes, and no `structures` that only one process knows
 * @throws TypeError for another kind of object, or for a Packr whose bytes another process could not read
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
        // A copy: unpacked buffers are views of the packed bytes.
        if (payload[0] === mark) return packr.unpack(Buffer.from(payload.subarray(1)))
      } catch {
        // No cause: the error may quote the value, and values must not reach the logs.
      }
      throw new Error(`Cannot read a stored value: its ${payload.length} bytes are not what this codec writes`)
    },
  }
}

function pack(packr: MessagePacker, value: unknown): unknown {
  try {
    return packr.pack(value)
  } catch (error) {
    // The message of msgpackr may quote the value, so it is only the cause, which stays in the caller's process.
    const name = error instanceof Error ? error.name : typeof error
    throw new TypeError(`Cannot store the value: pack() of msgpackr threw ${name}`, { cause: error })
  }
}

/**
 * Refuses `structures` and `sequential`, which keep property names in the memory of the process instead of the bytes.
 * Another process would read nothing or, with its own structures under the same numbers, values under wrong names.
 */
function refusePrivateStructures(packr: MessagePacker & { getStructures?: unknown }): void {
  // Shared structures, which other processes can find.
  if (typeof packr.getStructures === 'function') return
  const probe = { herdless: true }
  pack(packr, probe)
  const second = pack(packr, probe)
  if (Buffer.from(bytesReturned('pack() of msgpackr', second)).includes('herdless')) return
  const wanted = 'a Packr that writes the names of properties into each value, without `structures` and `sequential`'
  throw new TypeError(`Expected \`packr\` to be ${wanted}, got one that keeps them to itself`)
}
