import type { IncomingMessage, ServerResponse } from 'node:http'
import { messagePart, responsePart } from '../http/server/express-surroundings.ts'
import { own } from '../http/watch/harmless.ts'
import { Overrides } from '../http/message/overrides.ts'
import { textsAmong, type Surroundings } from '../http/watch/surroundings.ts'

/** The members of a context of Hono 4 that the cache uses or that options usually read. */
export interface HonoContext {
  readonly env: unknown
  readonly req: {
    raw: Request
    readonly path: string
    header(name: string): string | undefined
    valid(target: never): unknown
  }
  readonly var: object
  header(name: string, value?: string): void
  newResponse(body: null): Response
}

/**
 * The surroundings of a request of Hono.
 * @param status the status that earlier middleware has set
 */
export function honoSurroundings(
  context: HonoContext,
  incoming: IncomingMessage,
  { outgoing, status }: { readonly outgoing: ServerResponse; readonly status: number },
): Surroundings {
  const variables = context.var as Record<PropertyKey, unknown>
  const parts = [
    { name: 'c.var', object: variables, isOwn: own.nothing, kind: 'variables' } as const,
    { name: 'c', object: context, isOwn: own.honoContext },
    { name: 'c.req', object: context.req, isOwn: own.honoRequest },
    { name: 'c.env', object: context.env as object, isOwn: own.honoEnv },
    messagePart('c.env.incoming', incoming),
  ]
  return {
    parts,
    others: () => [
      responsePart('c.env.outgoing', outgoing),
      { name: 'c.req.raw', object: context.req.raw, isOwn: own.honoRaw },
    ],
    given: () => textsAmong(status === 200 ? null : `status ${status}`),
    asker: context,
    path: pathOf(context.req.path, incoming.url),
    lend: (onRead) => {
      lend(context, variables)
      watchValidated(context, onRead)
    },
  }
}

/** Inputs of a client, as validators take them. */
const ofClient: ReadonlySet<string> = new Set(['header', 'cookie', 'form', 'json'])

/** Records reads of the inputs that an earlier validator has kept. */
function watchValidated({ req }: HonoContext, onRead: (name: string) => void): void {
  const valid = (target: string): unknown => req.valid(target as never)
  const kept = new Set([...ofClient].filter((target) => valid(target) !== undefined))
  if (kept.size === 0) return
  const before = new Overrides(req).method('valid', (target: string) => {
    if (kept.has(target)) onRead(`:c.req.valid.${target}`)
    return before([target])
  })
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
