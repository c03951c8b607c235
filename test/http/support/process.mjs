/**
 * One process of sites: Express with the built package, and a handler that tells the test of each of its runs and answers
 * what the test says. It ends when the test does.
 *
 * @typedef {import('./process-site.ts').Opening} Opening
 * @typedef {import('./process-site.ts').Answer} Answer
 * @typedef {{ res: import('express').Response, next: import('express').NextFunction }} Run
 * @typedef {{ runs: Run[], events: Record<string, number>, close: () => Promise<void> }} Site
 */
import { once } from 'node:events'
import express from 'express'
import { Redis } from 'ioredis'
import { createCache, eventNames, fromBuild, obey, redisStore, tell } from '../../support/fleet-base.mjs'

/** @type {typeof import('../../../src/express/index.ts')} */
const { cacheResponses, purgeRouter } = await fromBuild('express/index.js')

/** @type {Map<number, Site>} */
const sites = new Map()

/** @param {Said} said @typedef {{ site: number, run: number }} Said */
function runOf({ site, run }) {
  const found = sites.get(site)?.runs[run]
  if (found === undefined) throw new Error(`There is no run ${run} of site ${site}`)
  return found
}

obey({
  /** @param {Opening & { site: number }} opening */
  async open({ site, redis, cache: options, responses, reads, token }) {
    const client = new Redis(redis)
    client.on('error', () => {})
    const cache = createCache({ ...options, store: redisStore(client) })
    const app = express()
    // Errors are what some tests are about: nobody has to read them.
    app.set('env', 'test')
    app.use('/purge', purgeRouter(cache, { token }))
    /** @type {Run[]} */
    const runs = []
    app.use(cacheResponses(cache, responses), (req, res, next) => {
      const run = runs.push({ res, next }) - 1
      tell({ site, run, method: req.method, path: req.path, read: reads.map((name) => req.get(name) ?? null) })
    })
    const server = app.listen(0, '127.0.0.1')
    await once(server, 'listening')
    // From here on it is told of outcomes.
    await cache.getOrLoad('warm', () => 1)
    /** @type {Record<string, number>} */
    const events = {}
    for (const name of eventNames) cache.on(name, () => void (events[name] = (events[name] ?? 0) + 1))
    cache.on('hit', ({ near }) => void (events['near'] = (events['near'] ?? 0) + (near === true ? 1 : 0)))
    const close = async () => {
      server.closeAllConnections()
      server.close()
      await cache.close({ timeout: 0 })
      client.disconnect()
    }
    sites.set(site, { runs, events, close })
    return /** @type {import('node:net').AddressInfo} */ (server.address()).port
  },

  /** @param {Said & { headers: Record<string, string>, text: string }} said */
  write: ({ headers, text, ...run }) => void runOf(run).res.set(headers).write(text),

  /** @param {Said & Answer} said */
  answer({ status = 200, headers = {}, body, ...run }) {
    const { res } = runOf(run)
    if (res.headersSent) res.end(body)
    else res.status(status).set(headers).send(body)
  },

  /** @param {Said & { message: string }} said */
  fail: ({ message, ...run }) => runOf(run).next(Object.assign(new Error(message), { stack: message })),

  /** @param {Said} said */
  events: ({ site }) => sites.get(site)?.events,

  /** @param {Said} said */
  close: async ({ site }) => await sites.get(site)?.close(),
})
