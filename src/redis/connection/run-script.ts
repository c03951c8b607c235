import { ignoreRejection } from '../../core/errors.ts'
import type { RedisArgument, RedisPort } from './port.ts'
import type { Script } from '../scripts.ts'

/** Runs a script by its digest. A server that does not know it (restarted, flushed) is sent the whole script. */
export function runScript(
  client: RedisPort,
  script: Script,
  keys: readonly string[],
  args: readonly RedisArgument[],
): Promise<unknown> {
  return client.evaluate('evalsha', script.sha1, keys, args).catch((error: unknown) => {
    const unknown = error instanceof Error && error.message.startsWith('NOSCRIPT')
    return unknown ? client.evaluate('eval', script.lua, keys, args).catch(refused) : refused(error)
  })
}

/** Makes a script known to a server in advance; its first use makes up for a failure. */
export function loadScript(client: RedisPort, script: Script): void {
  ignoreRejection(client.call('script', null, ['LOAD', script.lua]))
}

/** Throws the error without quoted arguments, which may include a value: a server without this command quotes them. */
function refused(error: unknown): never {
  if (!(error instanceof Error)) throw error
  const [message = '', ...quoted] = error.message.split(', with args beginning with: ')
  throw quoted.length === 0 ? error : Object.assign(new Error(message), { name: error.name })
}
