import type { IncomingMessage } from 'node:http'
import type { Request, Response } from 'express'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context as KoaContext } from 'koa'
import { inExpress, inFastify, inHono, inKoa, inNode, type HonoContext } from '../support/identity-frames.ts'
import type { MakeApp, Visitors } from '../support/identity.ts'

/** What middleware does before the cache, and how the handler reads the name of a visitor. */
type Pair<Given extends unknown[], Asked extends unknown[] = Given> = readonly [
  before: (...given: Given) => unknown,
  who: (...asked: Asked) => string | undefined,
]

interface Pairs {
  readonly express?: Pair<[req: Request, res: Response]>
  readonly koa?: Pair<[ctx: KoaContext]>
  readonly fastify?: Pair<[request: FastifyRequest, reply: FastifyReply], [request: FastifyRequest]>
  readonly hono?: Pair<[c: HonoContext]>
  readonly node?: Pair<[request: IncomingMessage]>
}

/** Does nothing before the cache. */
export const nothing = (): undefined => undefined

/** An app of each framework for which there is a pair. */
export function appsOf({ express, koa, fastify, hono, node }: Pairs): Record<string, MakeApp> {
  return {
    ...(express && inExpress((app) => app.use((req, res, next) => (express[0](req, res), next())), express[1])),
    ...(koa && inKoa((app) => app.use((ctx, next) => (koa[0](ctx), next())), koa[1])),
    ...(fastify &&
      inFastify(
        (app) => app.addHook('onRequest', async (request, reply) => void fastify[0](request, reply)),
        fastify[1],
      )),
    ...(hono && inHono((app) => app.use((c, next) => (hono[0](c), next())), hono[1])),
    ...(node && inNode(...node)),
  }
}

/** Visitors that a field of the request names. */
export const visitors: Visitors = {
  ada: { headers: { 'x-who': 'ada' } },
  bob: { headers: { 'x-who': 'bob' } },
  nobody: {},
}

/** The name in that field. */
export function whoIn({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  return headers['x-who']?.toString()
}

/** The message of node:http that a context of Hono is about. */
export function incoming(c: HonoContext): IncomingMessage {
  return c.env.incoming as IncomingMessage
}
