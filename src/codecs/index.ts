export { compressed, type CompressedOptions } from './compressed.ts'
export { encrypted, type EncryptedOptions, type EncryptionKey } from './encrypted.ts'
export { msgpackrCodec, type MessagePacker } from './msgpackr.ts'
export { v8Codec } from './v8.ts'
