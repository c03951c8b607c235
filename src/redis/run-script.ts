import type { RedisClient } from './client.ts'
import type { Script } from './scripts.ts'

/** Runs a script by its digest; a server that does not know it (restarted, flushed) is sent the whole of it. */
export async function runScript(
  client: RedisClient,
  script: Script,
  keys: readonly string[],
  args: readonly (string | Buffer | number)[],
): Promise<unknown> {
  const rest = [keys.length, ...keys, ...args]
  try {
    return await client.callBuffer('evalsha', [script.sha1, ...rest])
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error
    return await client.callBuffer('eval', [script.lua, ...rest])
  }
}
