import { EventEmitter } from 'node:events'
import { OutgoingMessage, ServerResponse, type IncomingMessage } from 'node:http'
import { Stream } from 'node:stream'
import { isHttp2 } from '../message/http2.ts'
import { present } from '../message/departure.ts'
import { Overrides } from '../message/overrides.ts'
import type { FieldLine } from '../policy/fields.ts'

/** All that a response of node can be asked or told. */
const members: ReadonlySet<string> = new Set(
  [ServerResponse, OutgoingMessage, Stream, EventEmitter].flatMap((each) =>
    Object.getOwnPropertyNames(each.prototype as object).filter((name) => name !== 'constructor'),
  ),
)

const ofTheAnswer: ReadonlySet<string> = new Set(['cache-control', 'cdn-cache-control', 'expires', 'vary'])

/**
 * Turns a response whose client has its answer already into one that goes nowhere, so that the handler can be run once more,
 * for the cache alone: what it is asked and told, and whoever listens to it, is another response behind it.
 * @param before what stood before the cache and said of the answer
 * @returns that other one
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
  // Whoever breaks it off ends this run, and not the connection, on which its client may ask for something else by now.
  behind.destroy = () => {
    if (!behind.destroyed) finished(behind, ['close'])
    return behind
  }
  const properties = Object.entries({ ...present, destroy: () => behind.destroy() })
  const descriptors = properties.map(([name, value]) => [name, { value, configurable: true, writable: true }] as const)
  // They are not its own: what is would be taken for what a listener of the server has put there.
  const socket: unknown = Object.create(Object.create(request.socket, Object.fromEntries(descriptors)) as object)
  // A handler whose client has gone may answer something else.
  const asked = new Overrides(request)
  for (const name of ['destroyed', 'closed', 'aborted', 'readable']) asked.value(name, false)
  asked.value('socket', socket)
  return behind
}

/** Whether a field is said of the whole answer, whoever says it: of what stands before the cache, too. */
export function isOfTheAnswer(name: string): boolean {
  return ofTheAnswer.has(name.toLowerCase())
}

/** Tells whoever waits for it that a response which goes nowhere is there. */
export function finished(behind: ServerResponse, events: readonly string[] = ['finish', 'close']): void {
  behind.destroyed = true
  for (const event of events) behind.emit(event)
}
