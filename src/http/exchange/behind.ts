import { EventEmitter } from 'node:events'
import { OutgoingMessage, ServerResponse, type IncomingMessage } from 'node:http'
import { Stream } from 'node:stream'
import { isHttp2 } from '../message/http2.ts'
import { present } from '../message/departure.ts'
import { Overrides } from '../message/overrides.ts'
import type { FieldLine } from '../policy/fields.ts'

/** Every member of a response of node:http. */
const members: ReadonlySet<string> = new Set(
  [ServerResponse, OutgoingMessage, Stream, EventEmitter].flatMap((each) =>
    Object.getOwnPropertyNames(each.prototype as object).filter((name) => name !== 'constructor'),
  ),
)

const ofTheAnswer: ReadonlySet<string> = new Set([
  'cache-control',
  'cdn-cache-control',
  'content-type',
  'expires',
  'vary',
])

/**
 * Replaces all members of a response whose client is already answered by those of another response without a
 * connection. The handler can then run again, for the cache alone: its calls, its reads and its listeners reach the
 * other response.
 * @param before the lines that were on the response before the cache; those that describe the answer are copied
 * @returns the response behind
 */
export function detached(
  request: IncomingMessage,
  response: ServerResponse,
  before: readonly FieldLine[],
): ServerResponse {
  const behind = new ServerResponse(request)
  for (const [name, value] of before) if (isOfTheAnswer(name)) behind.appendHeader(name, value)
  const overrides = new Overrides(response)
  const ofHttp2 = isHttp2(request) ? ['stream', 'setTrailer'] : []
  for (const name of new Set([...members, ...Object.getOwnPropertyNames(behind), ...ofHttp2])) {
    if (name === 'req') continue
    overrides.set(name, {
      get: () => {
        const value: unknown = Reflect.get(behind, name)
        return typeof value === 'function' ? (value.bind(behind) as unknown) : value
      },
      set: (value) => void Reflect.set(behind, name, value),
    })
  }
  // `destroy` ends this run only: the client may already use the connection for another request.
  behind.destroy = () => {
    finished(behind, ['close'])
    return behind
  }
  const properties = Object.entries({ ...present, destroy: () => behind.destroy() })
  const descriptors = properties.map(([name, value]) => [name, { value, configurable: true, writable: true }] as const)
  // Two prototypes, because `watchedSocket` takes an own property for one that a listener of the server has set.
  const socket: unknown = Object.create(Object.create(request.socket, Object.fromEntries(descriptors)) as object)
  // A handler may answer something else if the request looks aborted.
  const asked = new Overrides(request)
  for (const name of ['destroyed', 'closed', 'aborted', 'readable']) asked.value(name, false)
  asked.value('socket', socket)
  return behind
}

/** Whether a field describes the answer itself, even if earlier middleware has set it. */
export function isOfTheAnswer(name: string): boolean {
  return ofTheAnswer.has(name.toLowerCase())
}

/** Emits the final events of a response without a connection, once. */
export function finished(behind: ServerResponse, events: readonly string[] = ['finish', 'close']): void {
  if (behind.destroyed) return
  behind.destroyed = true
  for (const event of events) behind.emit(event)
}
