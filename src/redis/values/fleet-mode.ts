import { modes, type FleetMode, type Mode } from '../../core/contract/mode.ts'
import { tokens } from '../../core/lease/token.ts'
import type { RedisPort } from '../connection/port.ts'
import { inboxPrefix } from '../push/inbox.ts'
import { presence } from '../push/presence.ts'
import { modeKey } from './keys.ts'

/** The mode that an operator has set for the caches of a namespace; `null` for none, or for one of a later version. */
export async function fleetMode(client: RedisPort, namespace: string): Promise<FleetMode | null> {
  const key = modeKey(namespace)
  const set = (await client.get(key))?.toString()
  const mode = modes.find((each) => each === set)
  if (mode === undefined) return null
  const left = Number(await client.call('pttl', key, []))
  // It has just ended; or it was set by hand, and has no end.
  if (left === -2) return null
  return { mode, left: left === -1 ? Number.POSITIVE_INFINITY : left }
}

/**
 * Sets the mode for the caches of a namespace, and tells all that listen, of other namespaces as well, to look.
 * @param ms how long it holds; ignored with `cache`, which ends the mode that was set
 * @returns how many listeners were told: stores, and locks, which do not look; `null` if the user of Redis has no right to
 *   list the channels
 */
export async function setFleetMode(
  client: RedisPort,
  namespace: string,
  { mode, ms }: { readonly mode: Mode; readonly ms: number },
): Promise<number | null> {
  const key = modeKey(namespace)
  await (mode === 'cache' ? client.call('del', key, []) : client.call('set', key, [mode, 'PX', Math.ceil(ms)]))
  const inboxes = new Set<string>()
  try {
    for (const server of client.nodes()) {
      const listening = (await server.call('pubsub', ['CHANNELS', `${inboxPrefix}*`])) as unknown[]
      for (const inbox of listening.map(String)) if (!inbox.endsWith(presence)) inboxes.add(inbox)
    }
    const token = tokens()
    await Promise.all([...inboxes].map((inbox) => client.call('publish', null, [inbox, `m${token()}`])))
  } catch (error) {
    if (client.isReply(error)) return null
    throw error
  }
  return inboxes.size
}
