import type { RedisClient } from './client.ts'
import type { Script } from './scripts.ts'

/** Runs a script by its digest; a server that does not know it (restarted, flushed) is sent the whole of it. */
export async function runScript(
  client: RedisClient,
  script: Script,
  keys: readonly string[],
  args: readonly (string | Buffer | number)[],
): Promise<unknown> {
  try {
    return await client.evalshaBuffer(script.sha1, keys.length, ...keys, ...args)
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error
    return await client.evalBuffer(script.lua, keys.length, ...keys, ...args)
  }
}
