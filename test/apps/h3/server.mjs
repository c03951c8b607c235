import { H3, serve } from 'h3'
import { cache } from './cache.mjs'
import { cached } from './cached.mjs'

const { SOURCE_URL = '', TTL = '60000', GRACE = '0' } = process.env

/** @param {string} id */
const ask = async (id) => await (await fetch(`${SOURCE_URL}/${id}`)).text()

/** @param {import('h3').H3Event} event */
const idOf = (event) => event.context.params?.id ?? ''

const app = new H3()

/** Says who asks, by a field that no cache knows. */
app.use((event) => void (event.context.user = event.req.headers.get('x-user')))
app.use('/**', cached)

/** A value with a lifetime of its own. */
app.get('/value/:id', async (event) => {
  event.res.headers.set(
    'cache-control',
    `max-age=${Number(TTL) / 1_000}, stale-while-revalidate=${Number(GRACE) / 1_000}`,
  )
  event.res.headers.set('cache-tag', idOf(event))
  return await ask(idOf(event))
})
app.post('/change/:id', async (event) => {
  await cache.invalidateTags([idOf(event)])
  return 'changed'
})
app.get('/mine', async (event) => `${event.context.user}: ${await ask('mine')}`)
app.get('/private', async (event) => {
  event.res.headers.set('cache-control', 'private')
  return await ask('private')
})

const server = serve(app, { port: 0, hostname: '127.0.0.1', silent: true })
await server.ready()
console.log(`listens on ${new URL(server.url ?? '').port}`)
