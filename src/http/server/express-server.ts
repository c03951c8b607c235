import { createServer as createHttpServer, IncomingMessage, ServerResponse } from 'node:http'
import type { Server, ServerOptions } from 'node:http'
import { formatValue } from '../../core/time/duration.ts'

/**
 * What is used of an application of Express 4.18 or newer. What `express()` returns has both prototypes; its type
 * `Application` does not name them.
 */
export interface ExpressApp {
  (request: IncomingMessage, response: ServerResponse): unknown
  /** The prototype that Express gives each request. */
  readonly request?: object
  /** The prototype that Express gives each response. */
  readonly response?: object
}

/** The options of `createServer` of node:http, but those that are taken. */
export type ExpressServerOptions = Omit<ServerOptions, 'IncomingMessage' | 'ServerResponse'>

/** The options of a node:http or node:https server that name the classes of its requests and responses. */
export interface MessageClasses {
  readonly IncomingMessage: typeof IncomingMessage
  readonly ServerResponse: typeof ServerResponse
}

/**
 * A node:http server for an Express application, in place of `app.listen`, that answers the same and is faster. Express sets
 * the prototype of each request and each response, and an object whose prototype is replaced is slow to use from then on. Here
 * both are made with the prototype that Express is about to set, so it finds nothing to change. It does not listen yet.
 *
 * @param app what `express()` returns; may be extended and mounted upon before and after
 * @param options those of `createServer` of node:http, without `IncomingMessage` and `ServerResponse`
 * @returns the server, a `Server` of node:http as any other
 * @throws TypeError for what is no Express application, and for options that are no object or name classes
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
 * The classes that make a server fast for an Express application, for servers that `createServer` does not make:
 * `https.createServer({ key, cert, ...messageClasses(app) }, app)`.
 *
 * @param app what `express()` returns
 * @throws TypeError for what is no Express application
 */
export function messageClasses(app: ExpressApp): MessageClasses {
  if (!isExpressApp(app)) throw new TypeError(`Expected \`app\` to be an Express application, got ${formatValue(app)}`)
  const { request, response } = app
  return {
    IncomingMessage: Object.assign(heirOf(IncomingMessage), { prototype: request }),
    ServerResponse: Object.assign(heirOf(ServerResponse), { prototype: response }),
  }
}

/** Whether it has the prototypes that Express gives its requests and responses. */
export function isExpressApp(app: unknown): app is ExpressApp {
  const { request, response } = typeof app === 'function' ? (app as Partial<ExpressApp>) : {}
  return request instanceof IncomingMessage && response instanceof ServerResponse
}

/** A class as another, whose own prototype is still to be set, to one that inherits from that of the other. */
function heirOf<Class extends typeof IncomingMessage | typeof ServerResponse>(original: Class): Class {
  // Reflect.construct would make a hidden class for each instance, which costs more than all that is saved; and the prototype
  // of a `class` cannot be replaced. The classes of node:http are functions, which need no `new` for what inherits from them.
  const initialize = original as unknown as (this: object, about: unknown, options: unknown) => void
  const instantiate = original as unknown as new (about: unknown, options: unknown) => object
  // It has no name, nor a variable that would give it one, so that stack traces name it as the other.
  return function (this: object, about: unknown, options: unknown): object | undefined {
    try {
      initialize.call(this, about, options)
      return
    } catch {
      // The prototype has a getter by the name of something that node:http sets, `url` for example. Behind app.listen it is
      // never asked, as the request has its own by then; and so it is here, when Express sets the prototype.
      return new instantiate(about, options)
    }
  } as unknown as Class
}
