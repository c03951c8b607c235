import type { IncomingMessage, ServerResponse } from 'node:http'
import { messagePart, responsePart } from '../http/server/express-surroundings.ts'
import { own } from '../http/watch/harmless.ts'
import { Overrides } from '../http/message/overrides.ts'
import type { Surroundings } from '../http/watch/surroundings.ts'

/** The members of a context of Hono 4 that the cache uses or that options usually read. */
export interface HonoContext {
  readonly env: unknown
  readonly req: { raw: Request; readonly path: string; header(name: string): string | undefined }
  readonly var: object
  header(name: string, value?: string): void
  newResponse(body: null): Response
}

/** The surroundings of a request of Hono. */
export function honoSurroundings(
  context: HonoContext,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Surroundings {
  const variables = context.var as Record<PropertyKey, unknown>
  const parts = [
    { name: 'c.var', object: variables, isOwn: own.nothing },
    { name: 'c', object: context, isOwn: own.honoContext },
    { name: 'c.req', object: context.req, isOwn: own.honoRequest },
    { name: 'c.env', object: context.env as object, isOwn: own.honoEnv },
    messagePart('c.env.incoming', incoming),
  ]
  return {
    parts,
    others: () => [responsePart('c.env.outgoing', outgoing)],
    asker: context,
    path: pathOf(context.req.path, incoming.url),
    lend: () => lend(context, variables),
  }
}

/** The path by which Hono routes; `undefined` if it is the path of the address. */
function pathOf(path: string, url = '/'): string | undefined {
  const next = url.charAt(path.length)
  return url.startsWith(path) && (next === '' || next === '?' || next === '#') ? undefined : path
}

/**
 * Makes the context read its variables from the given object. It keeps them in a private field and exposes only copies.
 */
function lend(context: HonoContext, variables: Record<PropertyKey, unknown>): void {
  // Without variables there is nothing to watch, and the overrides would only slow the context down.
  if (Reflect.ownKeys(variables).length === 0) return
  const overrides = new Overrides(context)
  const set = overrides.method('set', (name: PropertyKey, value: unknown) => {
    set([name, value])
    variables[name] = value
  })
  const get = overrides.method('get', (name: PropertyKey) => {
    return Object.hasOwn(variables, name) ? variables[name] : get([name])
  })
  overrides.set('var', { get: () => variables })
}
