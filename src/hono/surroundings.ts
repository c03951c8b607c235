import type { IncomingMessage, ServerResponse } from 'node:http'
import { messagePart, responsePart } from '../http/server/express-surroundings.ts'
import { changedParams, changedQuery, textsAmong } from '../http/inputs/changed-values.ts'
import { own } from '../http/inputs/harmless.ts'
import { Overrides } from '../http/message/overrides.ts'
import { isOfRequest } from '../http/server/fetch-shown.ts'
import { isPlainObject, type Surroundings } from '../http/inputs/surroundings.ts'

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
  header(name: string, value?: string, options?: { append?: boolean }): void
  newResponse(body: null): Response
  res: Response
  finalized: boolean
}

/**
 * The surroundings of a request of Hono.
 * @param about.outgoing the response of node:http; `null` if the server has none
 * @param about.isEnvShared whether the bindings tell no clients apart, where they are none of node:http
 * @param about.status the status that earlier middleware has set
 * @param about.said the names of the fields that earlier middleware has set
 */
export function honoSurroundings(
  context: HonoContext,
  incoming: IncomingMessage,
  about: {
    readonly outgoing: ServerResponse | null
    readonly isEnvShared: boolean
    readonly status: number
    readonly said: ReadonlySet<string>
  },
): Surroundings {
  const { outgoing, isEnvShared, status, said } = about
  const variables = context.var as Record<PropertyKey, unknown>
  const parts = [
    { name: 'c.var', object: variables, isOwn: own.nothing, kind: 'variables' } as const,
    { name: 'c', object: context, isOwn: own.honoContext },
    { name: 'c.req', object: context.req, isOwn: own.honoRequest },
    { name: 'c.req.raw', object: context.req.raw, isOwn: isOfRequest, kind: 'request' } as const,
  ]
  const bindings = [
    { name: 'c.env', object: context.env as object, isOwn: own.honoEnv },
    messagePart('c.env.incoming', incoming),
  ]
  return {
    parts: outgoing === null ? parts : [...parts, ...bindings],
    others: () => (outgoing === null ? [] : [responsePart('c.env.outgoing', outgoing)]),
    changed: () => changedOf(context, incoming.url, status),
    asker: context,
    path: pathOf(context.req.path, incoming.url),
    lend: (onRead) => {
      lend(context, variables)
      if (outgoing === null && !isEnvShared) watchBindings(context, onRead)
      watchValidated(context, onRead)
      watchResponseFields(context, said, onRead)
    },
  }
}

function changedOf({ req }: HonoContext, url: string | undefined, status: number): readonly string[] {
  // Usually a validator returns what the address says.
  const [query, params] = [req.valid('query' as never), req.valid('param' as never)]
  return textsAmong(
    query === undefined ? null : changedQuery('c.req.valid.query', query, url),
    params === undefined ? null : changedParams('c.req.valid.param', params, url),
    status === 200 ? null : `status ${status}`,
  )
}

/**
 * Records reads by `c.res.headers.get()` and `has()` of fields that earlier middleware has set on the response. Lists of
 * all fields are not recorded: Hono itself makes one for every answer.
 */
function watchResponseFields(context: HonoContext, said: ReadonlySet<string>, onRead: (name: string) => void): void {
  if (said.size === 0) return
  const prototype = Object.getPrototypeOf(context) as object
  const watched = new WeakSet<Headers>()
  new Overrides(context).set('res', {
    get: () => {
      const response = Reflect.get(prototype, 'res', context) as Response
      const { headers } = response
      if (watched.has(headers)) return response
      watched.add(headers)
      const overrides = new Overrides(headers)
      for (const method of ['get', 'has']) {
        const before = overrides.method(method, (name: string) => {
          const field = String(name).toLowerCase()
          // @hono/node-server asks of every response whether it has a cookie.
          if (said.has(field) && (method === 'get' || field !== 'set-cookie')) onRead(`:c.res.${field}`)
          return before([name])
        })
      }
      return response
    },
    set: (response) => void Reflect.set(prototype, 'res', response, context),
  })
}

/** Records reads of the bindings: with the server that they may hold, a handler can look at the connection. */
function watchBindings(context: HonoContext, onRead: (name: string) => void): void {
  const { env } = context
  if (typeof env !== 'object' || env === null || (isPlainObject(env) && Reflect.ownKeys(env).length === 0)) return
  const overrides = new Overrides(context)
  const get = (): unknown => {
    onRead(':c.env')
    return env
  }
  overrides.set('env', { get, set: (value) => overrides.value('env', value) })
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
