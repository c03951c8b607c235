import type { RedisClient } from './client.ts'
import type { Script } from '../scripts.ts'

type Argument = string | Buffer | number

/** Runs a script by its digest. A server that does not know it (restarted, flushed) is sent the whole script. */
export function runScript(
  client: RedisClient,
  script: Script,
  keys: readonly string[],
  args: readonly Argument[],
): Promise<unknown> {
  const sent = (command: 'evalsha' | 'eval', which: string): Promise<unknown> => {
    return send(client, command, [which, keys.length, ...keys, ...args])
  }
  return sent('evalsha', script.sha1).catch((error: unknown) => {
    const unknown = error instanceof Error && error.message.startsWith('NOSCRIPT')
    return unknown ? sent('eval', script.lua).catch(refused) : refused(error)
  })
}

/** Throws the error without quoted arguments, which may include a value: a server without this command quotes them. */
function refused(error: unknown): never {
  if (!(error instanceof Error)) throw error
  const [message = '', ...quoted] = error.message.split(', with args beginning with: ')
  throw quoted.length === 0 ? error : Object.assign(new Error(message), { name: error.name })
}

/**
 * Sends a command. ioredis has an undocumented method for each of these; it is preferred, because `callBuffer` throws
 * with `enableAutoPipelining`.
 */
export function send(
  client: Pick<RedisClient, 'callBuffer'>,
  command: 'evalsha' | 'eval' | 'hdel' | 'hmget' | 'scan',
  args: Argument[],
): Promise<unknown> {
  const own = (client as { [method in `${typeof command}Buffer`]?: (...args: Argument[]) => Promise<unknown> })[
    `${command}Buffer`
  ]
  return own === undefined ? client.callBuffer(command, args) : own.call(client, ...args)
}
