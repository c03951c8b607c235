import type { Cluster, Redis } from 'ioredis'
import { ioredis, wayTo, type Address, type Ioredis, type RedisWay } from './ioredis.ts'
import type { Target } from './target.ts'

/** How long a server may take to answer, in milliseconds. */
export const patience = 5_000

/** No server could be asked; the message says why, and contains no password. */
export class Unanswered extends Error {
  override readonly name = 'Unanswered'
}

/**
 * Runs a function with a client that is connected to the target, then disconnects it.
 * @throws Unanswered
 */
export async function connected<T>(target: Target, use: (client: Redis | Cluster) => Promise<T>): Promise<T> {
  const library = await ioredis('It')
  const way = wayTo(target, library)
  const client = clientOf(target, way, library)
  let trouble: unknown
  client.on('error', (error: unknown) => (trouble ??= error))
  try {
    await client.connect()
    return await use(client)
  } catch (error) {
    const { message } = (trouble ?? error) as Error
    const { password } = way.options
    const hidden = typeof password === 'string' && password !== '' ? message.replaceAll(password, '***') : message
    // No cause: ioredis attaches the command to its errors, including the password.
    throw new Unanswered(hidden)
  } finally {
    client.disconnect()
  }
}

function clientOf({ kind, master }: Target, { addresses, options }: RedisWay, library: Ioredis): Redis | Cluster {
  const impatient = {
    ...options,
    replyMapping: 'legacy' as const,
    connectTimeout: patience,
    commandTimeout: patience,
    disconnectTimeout: 100,
    maxRetriesPerRequest: 0,
  }
  const places = addresses.filter((address): address is Address & { host: string } => 'host' in address)
  switch (kind) {
    case 'cluster':
      return new library.Cluster(places, {
        lazyConnect: true,
        clusterRetryStrategy: () => null,
        redisOptions: impatient,
      })
    case 'sentinel':
      return new library.Redis({
        ...impatient,
        lazyConnect: true,
        sentinels: places,
        name: master,
        sentinelRetryStrategy: () => null,
        retryStrategy: () => null,
      })
    case 'server':
      return new library.Redis({ ...impatient, ...addresses[0], lazyConnect: true, retryStrategy: () => null })
  }
}
