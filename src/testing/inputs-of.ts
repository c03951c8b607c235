import { once } from 'node:events'
import {
  createServer,
  request as ask,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { ignoreRejection, messageOf, quoted } from '../core/errors.ts'
import { systemClock } from '../core/time/clock.ts'
import { atMost } from '../core/time/deadline.ts'
import { formatValue, longestTimer, parseDuration, type Duration } from '../core/time/duration.ts'
import { credentials, shownName } from '../http/exchange/decide.ts'
import { responsePlan } from '../http/options/response-options.ts'
import { freshSurroundings } from '../http/server/express-surroundings.ts'
import { enteredStores, watchStorages } from '../http/inputs/async-stores.ts'
import { EarlierProperties } from '../http/inputs/earlier-properties.ts'
import { givenOf } from '../http/inputs/given.ts'
import { Inputs } from '../http/inputs/inputs.ts'
import { WatchedRequest } from '../http/inputs/watched-request.ts'

/** The app that is asked: a request listener, the result of `express()` among them; or an app of Koa or Fastify. */
export type AskedApp =
  | ((request: IncomingMessage, response: ServerResponse) => unknown)
  | { callback(): (request: IncomingMessage, response: ServerResponse) => unknown }
  | { ready(): PromiseLike<unknown>; routing(request: IncomingMessage, response: ServerResponse): unknown }

/** The request that an app is asked. */
export interface AskedRequest {
  /** The path with its query. */
  readonly url: string
  /** Default: none. */
  readonly headers?: Readonly<Record<string, string>>
  /** How long the app has to answer. Default: 10 s. */
  readonly timeout?: Duration
}

/** Something that a handler reads of its request, and that its answer may depend on. */
export interface Input {
  /** As `Cache-Status` names it: a request field in lower case, `socket.remoteAddress`, `*` for all fields at once. */
  readonly name: string
  /** Whether it becomes part of the key of a stored response, or keeps the response from being stored. */
  readonly verdict: 'key' | 'refuse'
}

/**
 * Asks an app once, by GET and without a cache, and lists what it reads of the request: what the key of its response
 * would be made of if a cache stood in front of the app.
 * @param request a path with its query, or a request
 * @returns the inputs in alphabetical order, each once
 * @throws TypeError for what is no app; Error if the app throws, rejects, or does not answer in time
 */
export async function inputsOf(app: AskedApp, request: string | AskedRequest): Promise<readonly Input[]> {
  const listener = await listenerOf(app)
  const { url, headers = {}, timeout = '10s' }: AskedRequest = typeof request === 'string' ? { url: request } : request
  const ms = parseDuration('timeout', timeout, { least: 1, most: longestTimer })
  let inputs: readonly Input[] = []
  const server = createServer()
  const failure = new Promise<never>((_, reject) => {
    server.on('request', (incoming: IncomingMessage, outgoing: ServerResponse) => {
      const watched = watchedFor(incoming, outgoing)
      outgoing.once('close', () => (inputs = watched.inputs()))
      const run = async (): Promise<unknown> => await listener(incoming, outgoing)
      watched.run(() => void run().catch((error: unknown) => reject(failed(url, error))))
    })
  })
  ignoreRejection(failure)
  try {
    const end = await atMost(ms, systemClock, [failure, answered(server, url, headers)], 'late')
    if (end === 'late') throw new Error(`The app did not answer ${quoted(url)} within ${ms} ms`)
  } finally {
    server.close()
    server.closeAllConnections()
  }
  return inputs
}

function failed(url: string, error: unknown): Error {
  return new Error(`The app failed at ${quoted(url)}: ${messageOf(error)}`, { cause: error })
}

/** Asks the server, and resolves when both have ended. */
async function answered(server: Server, path: string, headers: OutgoingHttpHeaders): Promise<void> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const asked = ask({ port, host: '127.0.0.1', path, headers, agent: false }).end()
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  await once(response.resume(), 'close')
  await new Promise((resolve) => server.close(resolve))
}

type Listener = (request: IncomingMessage, response: ServerResponse) => unknown

async function listenerOf(app: AskedApp): Promise<Listener> {
  if (typeof app === 'function') return app
  if (typeof app === 'object' && app !== null && 'routing' in app) {
    await app.ready()
    return (request, response) => app.routing(request, response)
  }
  if (typeof app === 'object' && app !== null && 'callback' in app) return app.callback()
  throw new TypeError(`Expected \`app\` to be an app or a request listener, got ${formatValue(app)}`)
}

/** Watches a request as a cache does while a handler fills it. */
function watchedFor(request: IncomingMessage, response: ServerResponse) {
  watchStorages()
  const surroundings = freshSurroundings(request)
  const plan = responsePlan('inputsOf', { cookies: 'show' })
  const earlierProperties = new EarlierProperties([])
  const given = givenOf({ request, response, surroundings, user: null, visit: { depth: 0 } }, plan, earlierProperties)
  const all = new Inputs(request, surroundings, given)
  const client = { request, surroundings, inputs: all, entered: enteredStores() }
  const nothing = (): void => undefined
  const heard = { onSee: nothing, onSet: nothing, onEnd: nothing }
  const about = { client, response, earlierFields: [], plan, earlierProperties, old: null, isBehind: false }
  const watched = new WatchedRequest({ ...about, ...heard })
  const inputs = (): readonly Input[] => {
    const verdicts = new Map<string, Input['verdict']>()
    for (const name of watched.seen) {
      const isKey = all.isKeyable(name) && !credentials.has(name)
      verdicts.set(shownName(name), isKey ? 'key' : 'refuse')
    }
    watched.release()
    const names = [...verdicts.keys()].toSorted((one, other) => (one < other ? -1 : 1))
    return names.map((name) => ({ name, verdict: verdicts.get(name) ?? 'refuse' }))
  }
  return { run: (handler: () => void) => watched.run(handler), inputs }
}
