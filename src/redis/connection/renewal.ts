import type { Script } from '../scripts.ts'
import type { RedisPort } from './port.ts'
import { runScript } from './run-script.ts'

/** The most leases or locks in one renewal: a script blocks the server while it runs. */
const most = 100

/**
 * Extends each of several leases or locks by its ttl, in milliseconds.
 * @param script returns for each whether it is still held; its arguments are `before`, then token and ttl for each
 * @returns for each what the script says of it
 */
export function renewEach(
  client: RedisPort,
  script: Script,
  held: readonly { readonly key: string; readonly token: string; readonly ttl: number }[],
  before: readonly string[] = [],
): Promise<unknown>[] {
  const size = client.isCluster ? 1 : most
  const renewals: Promise<unknown>[] = []
  for (let start = 0; start < held.length; start += size) {
    const some = held.slice(start, start + size)
    const keys = some.map(({ key }) => key)
    const args = [...before, ...some.flatMap(({ token, ttl }) => [token, Math.ceil(ttl)])]
    const reply = runScript(client, script, keys, args)
    renewals.push(...some.map((_, index) => reply.then((replies) => (replies as unknown[])[index])))
  }
  return renewals
}
