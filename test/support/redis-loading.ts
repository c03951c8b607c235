import { randomBytes } from 'node:crypto'
import type { Redis } from 'ioredis'

/** As many keys, and as large ones, as it takes for a server that loads them to answer every few milliseconds. */
const padding = { keys: 256, bytes: 4_096 }

/**
 * Saves what a server holds, and padding beside it.
 * @returns the arguments with which it then takes so many milliseconds to load
 */
export async function saveForLoading(client: Redis, ms: number): Promise<string[]> {
  const pipeline = client.pipeline()
  for (let number = 0; number < padding.keys; number++)
    pipeline.set(`padding:${number}`, randomBytes(padding.bytes), 'PX', ms + 10_000)
  await pipeline.exec()
  await client.save()
  const perKey = Math.ceil((1_000 * ms) / (await client.dbsize()))
  return ['--key-load-delay', String(perKey), '--loading-process-events-interval-bytes', String(padding.bytes)]
}
