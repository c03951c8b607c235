import * as scripts from '../scripts.ts'
import type { Lease } from '../../core/contract/store.ts'
import { type RedisPort, isYes } from '../connection/port.ts'
import { leaseKey } from './keys.ts'
import { runScript } from '../connection/run-script.ts'

/** The most leases in one renewal: a script blocks the server while it runs. */
const mostRenewed = 100

/**
 * Extends leases by another lease ttl.
 * @param inbox the inbox by which other processes judge whether this one lives; `''` for none
 */
export function renewed(client: RedisPort, leases: readonly Lease[], inbox: string): Promise<boolean>[] {
  const most = client.isCluster ? 1 : mostRenewed
  const answers: Promise<boolean>[] = []
  for (let start = 0; start < leases.length; start += most) {
    const some = leases.slice(start, start + most)
    const keys = some.map(({ key }) => leaseKey(key))
    const args = [inbox, ...some.flatMap(({ token, ttl }) => [token, Math.ceil(ttl)])]
    const reply = runScript(client, scripts.renew, keys, args)
    answers.push(...some.map((_, index) => reply.then((ours) => isYes((ours as unknown[])[index]))))
  }
  return answers
}
