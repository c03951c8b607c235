import type { IncomingMessage, ServerResponse } from 'node:http'
import { hostField, isHttp2 } from '../message/http2.ts'
import { withoutIgnored } from '../options/query-rule.ts'
import type { ResponsePlan } from '../options/response-options.ts'
import { directivesOf } from '../policy/directives.ts'
import { rewrittenUrl } from '../stored/request-key.ts'
import type { EarlierProperties } from './earlier-properties.ts'
import type { Surroundings } from './surroundings.ts'
import type { Visit } from './visit.ts'

/** What a request is given for its handler before the cache: inputs that are compared, because no read tells of them. */
export interface GivenInputs {
  /** The protocol, if messages look different to handlers than with HTTP/1.1; `null` for that. */
  readonly protocol: 'HTTP/2' | 'HTTP/1.0' | null
  /** The URL and the path that handlers see, if they differ from those of the address. */
  readonly url: string | null
  readonly path: string | null
  /** The route with the handler; `null` outside of one. */
  readonly route: string | null
  /** The `Content-Type` that earlier middleware has set, which every framework reads itself. */
  readonly type: string | null
  readonly user: string | null
  /** The directive by which earlier middleware has restricted the answer to its client; `null` for none. */
  readonly said: string | null
  /** The names of the properties that earlier middleware has set. */
  readonly names: readonly string[]
  /** The values of `Surroundings.changed`, and a host that is not spelled as in the address. */
  readonly changed: readonly string[]
  /** The number of caches before this one. */
  readonly depth: number
}

const none: readonly string[] = []

/** What is asked in order to tell what a request is given. */
export interface GivenAbout {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly surroundings: Surroundings
  readonly user: string | null
  readonly visit: Pick<Visit, 'depth'>
}

/** Finds what a request is given, which is compared on every hit. */
export function givenOf(
  { request, response, surroundings, user, visit }: GivenAbout,
  plan: ResponsePlan,
  earlierProperties: EarlierProperties,
): GivenInputs {
  // A key of the user's replaces everything by which addresses differ.
  const isKeyed = plan.key !== null
  const rewritten = isKeyed ? null : rewrittenUrl(request)
  return {
    protocol: protocolOf(request),
    url: rewritten === null ? null : withoutIgnored(rewritten, plan.query(request)),
    path: isKeyed ? null : (surroundings.path ?? null),
    route: isKeyed ? null : (surroundings.route?.() ?? null),
    type: typeIn(response),
    user,
    said: forItsClient(response),
    names: earlierProperties.names(surroundings.parts),
    changed: isKeyed ? none : changedFor(request, surroundings),
    depth: visit.depth,
  }
}

/**
 * Formats what a request is given as a text; requests with equal texts may share an answer. `''` for nothing.
 */
export function textOf(given: GivenInputs): string {
  const { protocol, url, path, route, type, user, said, names, changed, depth } = given
  if (isNamed(given)) return names.length === 0 ? (route ?? '') : `${route ?? ''}\n${names.join('\n')}`
  return JSON.stringify([protocol, url, path, route, type, user, said, names, depth, ...changed])
}

/** Whether a request is given nothing besides its route. */
export function isUsual(given: GivenInputs): boolean {
  return given.names.length === 0 && isNamed(given)
}

/** Whether a request is given nothing besides its route and its names. */
function isNamed({ protocol, url, path, type, user, said, changed, depth }: GivenInputs): boolean {
  const isAddressed = protocol === null && url === null && path === null && type === null && changed.length === 0
  return isAddressed && user === null && said === null && depth === 0
}

/** Whether nothing that a request is given may tell its client from others. */
export function isBare({ user, said, names, depth }: GivenInputs): boolean {
  return user === null && said === null && names.length === 0 && depth === 0
}

function protocolOf(request: IncomingMessage): GivenInputs['protocol'] {
  if (isHttp2(request)) return 'HTTP/2'
  return request.httpVersion === '1.0' ? 'HTTP/1.0' : null
}

/** What differs for a handler although the address is the same, the spelling of the host with it: routers compare that. */
function changedFor(request: IncomingMessage, surroundings: Surroundings): readonly string[] {
  const changed = surroundings.changed?.() ?? none
  const host = request.headers[hostField(request)]
  if (typeof host !== 'string' || host === host.toLowerCase()) return changed
  return [...changed, `host spelled ${JSON.stringify(host)}`]
}

/** The directive by which earlier middleware has already restricted the answer to its client; `null` for none. */
function forItsClient(response: ServerResponse): 'private' | 'no-store' | null {
  for (const name of ['Cache-Control', 'CDN-Cache-Control']) {
    const said = response.getHeader(name)
    if (said === undefined) continue
    const directives = directivesOf(String(said))
    if (directives.has('no-store')) return 'no-store'
    if (directives.has('private')) return 'private'
  }
  return null
}

/** The `Content-Type` that earlier middleware has set. */
function typeIn(response: ServerResponse): string | null {
  const type = response.getHeader('Content-Type')
  return type === undefined ? null : String(type)
}
