import type { IncomingMessage } from 'node:http'
import { Agent, createServer } from 'node:https'
import type { TLSSocket } from 'node:tls'
import { describe } from 'vitest'
import { certificatesOf, findOpenssl } from '../../support/certificates.ts'
import { inExpress, inFastify, inHono, inKoa, type ServerOf } from '../support/identity-frames.ts'
import { tellsApart, type Visitors } from '../support/identity.ts'
import { nothing } from './given-apps.ts'

describe.skipIf(findOpenssl() === undefined)('mutual TLS (without openssl there are no certificates)', async () => {
  if (findOpenssl() === undefined) return
  const { ca, of } = await certificatesOf('site', 'ada', 'bob')
  // Node.js says of each resumed session that it is authorized.
  const shows = (shown: object) => ({ agent: new Agent({ ca, servername: 'site', maxCachedSessions: 0, ...shown }) })
  const visitors: Visitors = { ada: shows(of.ada), bob: shows(of.bob), nobody: shows({}) }
  const serverOf: ServerOf = (listener) => {
    return createServer({ ...of.site, ca, requestCert: true, rejectUnauthorized: false }, listener)
  }

  /** The name in the certificate of a client; `undefined` after its connection has ended. */
  const peer = ({ socket }: Pick<IncomingMessage, 'socket'>): string | undefined => {
    const shown = (socket as TLSSocket).getPeerCertificate() as { subject?: { CN?: string } } | null
    return shown?.subject?.CN
  }

  /** Whether the client has a trusted certificate. */
  const isTrusted = ({ socket }: Pick<IncomingMessage, 'socket'>): boolean => (socket as TLSSocket).authorized

  tellsApart('the certificate of a client', {
    visitors,
    ofUsers: {},
    apps: {
      ...inExpress(nothing, peer, serverOf),
      ...inKoa(nothing, (ctx) => peer(ctx.req), serverOf),
      ...inFastify(nothing, peer, { serverFactory: serverOf }),
      ...inHono(nothing, (c) => peer(c.env.incoming), { serverOf }),
    },
  })

  tellsApart('socket.authorized', {
    visitors: { ada: visitors['ada'] ?? {}, nobody: visitors['nobody'] ?? {} },
    apps: inExpress(nothing, (req) => (isTrusted(req) ? 'ada' : undefined), serverOf),
  })

  tellsApart('req.user, from the certificate of a client', {
    visitors,
    ofUsers: {},
    apps: {
      ...inExpress(
        (app) => void app.use((req, _res, next) => ((req.user = { name: peer(req) ?? 'nobody' }), next())),
        (req) => req.user?.name,
        serverOf,
      ),
      ...inKoa(
        (app) => void app.use((ctx, next) => ((ctx.state['name'] = peer(ctx.req)), next())),
        (ctx) => ctx.state['name'],
        serverOf,
      ),
    },
  })
})
