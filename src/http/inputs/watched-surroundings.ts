import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { nameOf } from './harmless.ts'
import { isHttp2, watchedStream } from '../message/http2.ts'
import { Overrides } from '../message/overrides.ts'
import type { EarlierProperties } from './earlier-properties.ts'
import { isPlainObject, type Surroundings } from './surroundings.ts'
import { WatchedComputed } from './watched-computed.ts'
import { WatchedProperties } from './watched-properties.ts'
import { watchLines } from './watched-lines.ts'
import { watchedSocket } from './watched-socket.ts'

/** Called with the name of an input that is not a field, with a leading colon. */
export type OnRead = (name: string) => void

/** Callbacks for the reads of a watched request. */
export interface SurroundingsHeard {
  readonly onRead: OnRead
  /** Called with the name of a field that earlier middleware has set, when the handler sets it. */
  readonly onSet: (name: string) => void
  /** Called before the handler ends the connection. */
  readonly onEnd: () => void
}

/** Watches the surroundings of a request, its connection and its stream while the handler fills. */
export class WatchedSurroundings {
  readonly #properties: readonly WatchedProperties[]
  readonly #undo: (() => void)[] = []
  readonly #onRead: OnRead
  /** The connection of the response and its watch; `null` if it is not watched. */
  #connection: { readonly response: ServerResponse; readonly socket: Socket; readonly watched: Socket } | null = null
  /** Whether reads of the connection are part of a computed property, which is reported as a whole. */
  #isMuted = false

  constructor(
    messages: {
      readonly request: IncomingMessage
      readonly response: ServerResponse
      readonly earlierFields: readonly string[]
    },
    { parts, others, computed, lend, responseName, isSaving }: Surroundings,
    earlierProperties: EarlierProperties,
    { onRead, onSet, onEnd }: SurroundingsHeard,
  ) {
    this.#onRead = onRead
    this.#properties = [...parts, ...(others?.() ?? [])].flatMap((part) => {
      // What such an object inherits cannot be watched.
      if (part.kind === 'variables' && !isPlainObject(part.object)) onRead(`:${part.name}`)
      const names = earlierProperties.watchable(part)
      if (names.length === 0) return []
      const read = (key: PropertyKey): void => void (isSaving?.() === true || onRead(`:${part.name}.${nameOf(key)}`))
      return [new WatchedProperties(part.object, names, read)]
    })
    lend?.(onRead)
    if (responseName !== undefined) {
      const overrides = new Overrides(messages.response)
      watchLines(overrides, messages.earlierFields, { onRead: (name) => onRead(`:${responseName}.${name}`), onSet })
      this.#undo.push(() => overrides.undo())
    }
    this.#watchSocket(messages, onEnd)
    if (isHttp2(messages.request))
      for (const message of [messages.request, messages.response]) this.#watchStream(message)
    const known = computed?.()
    if (known === undefined) return
    const watched = new WatchedComputed(known, { onRead, muted: (work) => this.#muted(work) })
    this.#undo.push(() => watched.release())
  }

  /** Restores the objects, except for properties that were assigned meanwhile. */
  release(): void {
    this.#connection = null
    for (const properties of this.#properties) properties.release()
    for (const undo of this.#undo.splice(0)) undo()
  }

  /**
   * Runs `work` with the connection itself in place of the watched one: Node.js looks at it several times for each part
   * of an answer.
   */
  unwatched<T>(work: () => T): T {
    const connection = this.#connection
    if (connection === null || connection.response.socket !== connection.watched) return work()
    const { response, socket, watched } = connection
    Reflect.set(response, 'socket', socket)
    try {
      return work()
    } finally {
      // It may have been released, and Node.js takes the connection from a response that has ended.
      if (this.#connection === connection && response.socket === socket) Reflect.set(response, 'socket', watched)
    }
  }

  #watchSocket(
    { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
    onEnd: () => void,
  ): void {
    const socket = request.socket as Socket | null | undefined
    // An injected request has no socket.
    if (socket === undefined || socket === null) return
    // A property of the application under the name of one of node:http.
    const client: unknown = Reflect.get(request, 'client')
    if (client !== undefined && client !== null && !(client instanceof Socket)) this.#onRead(':client')
    const watched = watchedSocket(socket, (name) => this.#isMuted || this.#onRead(`:socket.${name}`), onEnd)
    this.#replaceSocket(request, 'socket', socket, watched)
    this.#replaceSocket(request, 'client', socket, watched)
    this.#replaceSocket(response, 'socket', socket, watched)
    if (response.socket === watched) this.#connection = { response, socket, watched }
  }

  /** Watches the HTTP/2 stream, which gives access to the connection and to the raw request. */
  #watchStream(message: object): void {
    const stream: unknown = Reflect.get(message, 'stream')
    const watched = watchedStream(stream ?? {}, (name) => this.#onRead(`:stream.${name}`))
    const overrides = new Overrides(message)
    overrides.set('stream', { get: () => watched, set: (value) => overrides.value('stream', value) })
    this.#undo.push(() => overrides.undo())
  }

  /** Replaces a property that holds the connection, or will hold it. */
  #replaceSocket(message: object, name: string, socket: Socket, watched: Socket): void {
    const own = Object.getOwnPropertyDescriptor(message, name)
    // An assignment leaves the object as fast as it is; an accessor in place of a value would make it slow.
    if (own?.writable === true && own.value === socket) {
      Reflect.set(message, name, watched)
      this.#undo.push(() => void (Reflect.get(message, name) === watched && Reflect.set(message, name, socket)))
    } else this.#replaceLateSocket(message, name, socket, watched)
  }

  /**
   * Replaces a property to which Node.js assigns the connection later: a pipelined response is given it when its turn
   * comes, and loses it after the answer.
   */
  #replaceLateSocket(message: object, name: string, socket: Socket, watched: Socket): void {
    const before = Object.getOwnPropertyDescriptor(message, name)
    let current: unknown = Reflect.get(message, name)
    Object.defineProperty(message, name, {
      configurable: true,
      enumerable: true,
      get: () => (current === socket ? watched : current),
      set: (value) => {
        current = value
      },
    })
    this.#undo.push(() => {
      if (before === undefined) Reflect.deleteProperty(message, name)
      else Object.defineProperty(message, name, before.get === undefined ? { ...before, value: current } : before)
    })
  }

  #muted<T>(work: () => T): T {
    const isMuted = this.#isMuted
    this.#isMuted = true
    try {
      return work()
    } finally {
      this.#isMuted = isMuted
    }
  }
}
