import fastifyJwt from '@fastify/jwt'
import { expressjwt } from 'express-jwt'
import { jwt, sign } from 'hono/jwt'
import koaJwt from 'koa-jwt'
import { inExpress, inFastify, inHono, inKoa } from '../support/identity-frames.ts'
import { tellsApart, type Visitors } from '../support/identity.ts'

const secret = 'a secret that is long enough for everybody'

async function tokenFor(name: string): Promise<string> {
  return await sign({ name, iat: Math.floor(Date.now() / 1_000) - 60 }, secret, 'HS256')
}

/** Two visitors with a token in this field, and one without. */
async function bearers(field: string, prefix = ''): Promise<Visitors> {
  const bearer = async (name: string) => ({ headers: { [field]: `${prefix}${await tokenFor(name)}` } })
  return { nobody: {}, ada: await bearer('ada'), bob: await bearer('bob') }
}

interface Claims {
  readonly name: string
}

for (const field of ['authorization', 'x-access-token'] as const) {
  const isOwn = field === 'x-access-token'
  const visitors = await bearers(field, isOwn ? '' : 'Bearer ')
  const about = { visitors, shares: isOwn, ofUsers: { authorization: 'share' } } as const

  tellsApart(`express-jwt and a token in ${field}`, {
    ...about,
    apps: inExpress(
      (app) => {
        const getToken = isOwn
          ? { getToken: ({ headers }: { headers: object }) => Reflect.get(headers, field) as string | undefined }
          : {}
        app.use(expressjwt({ secret, algorithms: ['HS256'], credentialsRequired: false, ...getToken }))
      },
      (req) => (req as { auth?: Claims }).auth?.name,
    ),
  })

  tellsApart(`koa-jwt and a token in ${field}`, {
    ...about,
    apps: inKoa(
      (app) => {
        const getToken = isOwn ? { getToken: (ctx: { get(name: string): string }) => ctx.get(field) || null } : {}
        app.use(koaJwt({ secret, passthrough: true, ...(getToken as object) }))
      },
      (ctx) => (ctx.state['user'] as Claims | undefined)?.name,
    ),
  })

  tellsApart(`hono/jwt and a token in ${field}`, {
    ...about,
    // It demands the word Bearer in any field.
    visitors: await bearers(field, 'Bearer '),
    apps: inHono(
      (app) => app.use(jwt({ secret, alg: 'HS256', headerName: field })),
      (c) => (c.get('jwtPayload' as never) as Claims).name,
    ),
  })

  tellsApart(`@fastify/jwt and a token in ${field}`, {
    ...about,
    apps: inFastify(
      async (app) => {
        const verify = isOwn
          ? { verify: { extractToken: ({ headers }: { headers: object }) => Reflect.get(headers, field) as string } }
          : {}
        await app.register(fastifyJwt, { secret, ...verify })
        app.addHook('onRequest', async (request) => void (await request.jwtVerify()))
      },
      ({ user }) => (user as Claims).name,
    ),
  })
}
