import type { RedisClient } from './client.ts'

/** One promise for all stores on a client, so that each adds no listeners. */
const underWay = new WeakMap<RedisClient, Promise<void>>()

/** Resolves when the client's first connection is open or has failed; `undefined` if it is not under way. */
export function firstConnection(client: RedisClient): Promise<void> | undefined {
  if (!['wait', 'connecting', 'connect'].includes(client.status ?? '')) return undefined
  let over = underWay.get(client)
  if (over === undefined) underWay.set(client, (over = endOfFirst(client)))
  return over
}

function endOfFirst(client: RedisClient): Promise<void> {
  return new Promise((resolve) => {
    const over = (): void => {
      client.off?.('ready', over)
      client.off?.('close', over)
      resolve()
    }
    client.on?.('ready', over)
    client.on?.('close', over)
  })
}
