import { EventEmitter } from 'node:events'
import { OutgoingMessage, ServerResponse, type IncomingMessage } from 'node:http'
import { Stream } from 'node:stream'
import { Overrides } from './overrides.ts'

/** All that a response of node can be asked or told. */
const members: ReadonlySet<string> = new Set(
  [ServerResponse, OutgoingMessage, Stream, EventEmitter].flatMap((each) =>
    Object.getOwnPropertyNames(each.prototype as object).filter((name) => name !== 'constructor'),
  ),
)

/**
 * Turns a response whose client has its answer already into one that goes nowhere, so that the handler can be run once more,
 * for the cache alone: what it is asked and told, and whoever listens to it, is another response behind it.
 * @returns that other one
 */
export function detached(request: IncomingMessage, response: ServerResponse): ServerResponse {
  const behind = new ServerResponse(request)
  const overrides = new Overrides(response)
  for (const name of new Set([...members, ...Object.getOwnPropertyNames(behind)])) {
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
  const socket: unknown = Object.create(request.socket, { destroy: { value: () => behind.destroy() } })
  new Overrides(request).value('socket', socket)
  return behind
}

/** Tells whoever waits for it that a response which goes nowhere is there. */
export function finished(behind: ServerResponse, events: readonly string[] = ['finish', 'close']): void {
  behind.destroyed = true
  for (const event of events) behind.emit(event)
}
