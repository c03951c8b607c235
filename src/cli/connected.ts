import { portOf } from '../redis/clients/redis-client.ts'
import { reasonOf } from '../redis/connection/unavailable-reason.ts'
import { whyUnanswered } from './diagnosis.ts'
import { Unanswered, UsageError } from './ending.ts'
import { ioredisLibrary } from './ioredis.ts'
import type { Address, ClientLibrary, OwnClient, TargetWay } from './library.ts'
import { nodeRedisLibrary } from './node-redis.ts'
import type { Target } from './target.ts'

/** How long a server may take to answer, in milliseconds. */
export const timeout = 5_000

/**
 * Runs a function with a client that is connected to the target, then disconnects it.
 * @throws Unanswered, or the UsageError of the function
 */
export async function connected<T>(target: Target, use: (client: OwnClient['client']) => Promise<T>): Promise<T> {
  const library = await clientLibrary('It')
  const way = wayTo(target, library)
  const own = library.open(way, timeout)
  let trouble: unknown
  own.onError((error) => (trouble ??= error))
  try {
    await connect(own)
    return await use(own.client)
  } catch (error) {
    if (error instanceof UsageError) throw error
    const { tls, password = '' } = way
    const asked = { address: way.addresses[0] as Address, encrypted: tls !== null }
    const message = await whyUnanswered(trouble ?? error, asked)
    const hidden = password === '' ? message : message.replaceAll(password, '***')
    // No cause: ioredis attaches the command to its errors, including the password.
    throw new Unanswered(hidden)
  } finally {
    own.client.disconnect()
  }
}

/**
 * Connects a client. Rejects if the server does not answer, or wants another password; a right may be missing. A client
 * without a password is connected before the server has said anything.
 */
export async function connect(own: OwnClient): Promise<void> {
  await own.connect()
  const port = portOf(own.client)
  await port.call('ping', null, []).catch((error: unknown) => {
    if (!port.isReply(error) || reasonOf(error) === 'password') throw error
  })
}

/**
 * The client library of the application: ioredis, or node-redis without that.
 * @param subject begins the message of the error
 * @throws UsageError if there is none
 */
export async function clientLibrary(subject: string): Promise<ClientLibrary> {
  const found =
    (await imported(async () => ioredisLibrary(await import('ioredis')))) ??
    (await imported(async () => nodeRedisLibrary(await import('redis'))))
  if (found !== null) return found
  throw new UsageError(`${subject} needs ioredis or node-redis: \`npm install ioredis\`, or \`npm install redis\``)
}

async function imported(load: () => Promise<ClientLibrary>): Promise<ClientLibrary | null> {
  try {
    return await load()
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    return null
  }
}

/** The way in the URLs of a target, with the credentials of the first. */
export function wayTo({ urls, ca, kind, master }: Target, library: ClientLibrary): TargetWay {
  const read = urls.map((url) => library.parse(url))
  const [{ address: _, tls, ...credentials }] = read as [(typeof read)[number]]
  const secure = tls === null ? null : ca === null ? tls : { ...tls, ca }
  return { ...credentials, tls: secure, kind, master, addresses: read.map(({ address }) => address) }
}
