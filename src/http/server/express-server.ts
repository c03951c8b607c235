import { createServer as createHttpServer, IncomingMessage, ServerResponse } from 'node:http'
import type { Server, ServerOptions } from 'node:http'
import { formatValue } from '../../core/time/duration.ts'

/**
 * The used members of an application of Express 4.18 or newer. The result of `express()` has both prototypes, although
 * its type `Application` does not name them.
 */
export interface ExpressApp {
  (request: IncomingMessage, response: ServerResponse): unknown
  /** The prototype that Express gives each request. */
  readonly request?: object
  /** The prototype that Express gives each response. */
  readonly response?: object
}

/** The options of `createServer` of node:http, except the message classes. */
export type ExpressServerOptions = Omit<ServerOptions, 'IncomingMessage' | 'ServerResponse'>

/** The options of a node:http or node:https server that set the classes of its requests and responses. */
export interface MessageClasses {
  readonly IncomingMessage: typeof IncomingMessage
  readonly ServerResponse: typeof ServerResponse
}

/**
 * Creates a node:http server for an Express application, in place of `app.listen`, with the same answers and less work.
 * Express replaces the prototype of every request and response, and an object with a replaced prototype stays slow.
 * This server creates both with the prototype that Express is about to set, so Express changes nothing. The server does
 * not listen yet.
 *
 * @param app the result of `express()`; may be extended and mounted upon before and after
 * @param options the options of `createServer` of node:http, without `IncomingMessage` and `ServerResponse`
 * @returns an ordinary `Server` of node:http
 * @throws TypeError for an app that is no Express application, and for options that are no object or set a message
 *   class
 * @see https://nodejs.org/api/http.html#httpcreateserveroptions-requestlistener
 */
export function createServer(app: ExpressApp, options: ExpressServerOptions = {}): Server {
  const classes = messageClasses(app)
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(`Expected the options of createServer to be an object, got ${formatValue(options)}`)
  }
  for (const name of Object.keys(classes)) {
    const given = (options as Record<string, unknown>)[name]
    if (given === undefined) continue
    throw new TypeError(
      `Expected no \`${name}\` in the options of createServer, which makes it, got ${formatValue(given)}`,
    )
  }
  return createHttpServer({ ...options, ...classes }, app)
}

/**
 * The message classes that make a server fast for an Express application, for a server that `createServer` cannot
 * create: `https.createServer({ key, cert, ...messageClasses(app) }, app)`.
 *
 * @param app the result of `express()`
 * @throws TypeError for an app that is no Express application
 */
export function messageClasses(app: ExpressApp): MessageClasses {
  if (!isExpressApp(app)) throw new TypeError(`Expected \`app\` to be an Express application, got ${formatValue(app)}`)
  const { request, response } = app
  return {
    IncomingMessage: Object.assign(heirOf(IncomingMessage), { prototype: request }),
    ServerResponse: Object.assign(heirOf(ServerResponse), { prototype: response }),
  }
}

/** Whether a value has the prototypes that Express gives its requests and responses. */
export function isExpressApp(app: unknown): app is ExpressApp {
  const { request, response } = typeof app === 'function' ? (app as Partial<ExpressApp>) : {}
  return request instanceof IncomingMessage && response instanceof ServerResponse
}

/** No argument of a constructor. */
const never = Symbol('never')

/** An object that is being made. */
interface Room {
  /** Never set. */
  room?: 0
}

/**
 * Makes a class like `original` whose prototype is still to be set, to an object that inherits from that of `original`.
 */
function heirOf<Class extends typeof IncomingMessage | typeof ServerResponse>(original: Class): Class {
  // `Reflect.construct` would create a hidden class per instance, which costs more than this file saves, and the
  // prototype of a `class` cannot be replaced. The classes of node:http are functions that can initialize any object
  // inheriting from their prototype, without `new`.
  const initialize = original as unknown as (this: object, about: unknown, options: unknown) => void
  const instantiate = original as unknown as new (about: unknown, options: unknown) => object
  // Anonymous, and not assigned to a variable that would name it, so that stack traces show the name of `original`.
  return function (this: Room, about: unknown, options: unknown): object | undefined {
    // Never true. V8 counts the assignments in the source of a constructor, reserves room for as many properties in
    // each object, and makes an object slow (a hash table) that is given many more, as Express and middleware do.
    if (about === never) {
      this.room = this.room = this.room = this.room = this.room = this.room = this.room = this.room = this.room = 0
      this.room = this.room = this.room = this.room = this.room = this.room = this.room = this.room = this.room = 0
      this.room = this.room = this.room = this.room = this.room = this.room = this.room = this.room = this.room = 0
      this.room = this.room = this.room = this.room = this.room = this.room = this.room = this.room = this.room = 0
    }
    try {
      initialize.call(this, about, options)
      return
    } catch {
      // The prototype of the app has a getter for a property that node:http assigns, for example `url`. Behind
      // `app.listen` the getter is never used, because the request has an own property before Express sets the
      // prototype. Creating an instance of `original` keeps that order.
      return new instantiate(about, options)
    }
  } as unknown as Class
}
