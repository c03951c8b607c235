import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage, ServerResponse } from 'node:http'
import onHeaders from 'on-headers'
import { inExpress, inFastify, inHono, inKoa } from '../support/identity-frames.ts'
import { tellsApart } from '../support/identity.ts'
import { appsOf } from './given-apps.ts'

/** The cache cannot see the reads of it: it has only the fields of the answer. */
const storage = new AsyncLocalStorage<string | undefined>()

const user = (): string | undefined => storage.getStore()

function userOf({ headers }: IncomingMessage): string | undefined {
  return headers['x-forwarded-user']?.toString()
}

const ada = { headers: { 'x-forwarded-user': 'ada' } }
const bob = { headers: { 'x-forwarded-user': 'bob' } }

type Says = (response: ServerResponse, name: string) => void

const lately =
  (say: Says): Says =>
  (response, name) =>
    onHeaders(response, () => say(response, name))

const ways: Record<string, Says> = {
  'Cache-Control: private': (response) => void response.setHeader('Cache-Control', 'private'),
  'Cache-Control: no-store': (response) => void response.setHeader('Cache-Control', 'no-store'),
  'Set-Cookie': (response, name) => void response.setHeader('Set-Cookie', `name=${name}`),
}

/** Marks the pages of visitors with a name. */
function saying(say: Says) {
  const before = (request: IncomingMessage, response: ServerResponse): string | undefined => {
    const name = userOf(request)
    if (name !== undefined) say(response, name)
    return name
  }
  return {
    ...inExpress((app) => void app.use((req, res, next) => storage.run(before(req, res), next)), user),
    ...inKoa((app) => void app.use((ctx, next) => storage.run(before(ctx.req, ctx.res), next)), user),
    ...inFastify(
      (app) =>
        void app.addHook('onRequest', (request, reply, done) => storage.run(before(request.raw, reply.raw), done)),
      user,
    ),
    ...inHono(
      (app) =>
        app.use((c, next) =>
          storage.run(before(c.env.incoming as IncomingMessage, c.env.outgoing as ServerResponse), next),
        ),
      user,
    ),
  }
}

for (const [name, say] of Object.entries(ways)) {
  // The cache knows this field before it looks for a page, so it can tell `nobody` apart, too. A cookie that is set before
  // the cache is of one request and says nothing of the page.
  if (name !== 'Set-Cookie') {
    tellsApart(`${name}, set before the cache for some`, { visitors: { ada, bob, nobody: {} }, apps: saying(say) })
  }

  tellsApart(`${name}, set when the head is sent`, {
    visitors: { ada, bob },
    apps: saying(lately(say)),
    shares: false,
  })
}

tellsApart('req.user, with Cache-Control: private set when the head is sent', {
  visitors: { ada, bob, nobody: {} },
  apps: appsOf({
    express: [
      (req, res) => {
        const name = userOf(req)
        if (name !== undefined) req.user = { name }
        onHeaders(res, () => req.user !== undefined && res.setHeader('Cache-Control', 'private'))
      },
      (req) => req.user?.name,
    ],
  }),
})
