/** What the blocks marked `in=app` have before they begin: an empty cache, an Express app that listens, and a visitor. */
import { once } from 'node:events'
import express from 'express'
import { atEnd } from './at-end.mjs'
import { cache } from './cache.mjs'

export { cacheResponses } from 'herdless/express'
export { cache }

export const app = express()

const server = app.listen(0)
await once(server, 'listening')
atEnd(() => server.close())
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())

/** @param {string} id */
export const render = async (id) => `product ${id}`
/** @param {string} _id */
export const update = async (_id) => {}

/**
 * What a visitor is told, and what Cache-Status says of that.
 *
 * @param {string} path
 * @param {RequestInit} [request]
 */
export async function ask(path, request) {
  const answer = await fetch(`http://localhost:${port}${path}`, request)
  const [status, text] = [answer.headers.get('cache-status'), await answer.text()]
  // Whoever asks before it is stored has it all the same, but as one who waited.
  while (!(await cache.leases()[Symbol.asyncIterator]().next()).done);
  return [answer.status, text, ...(status === null ? [] : [`(${status})`])].join(' ')
}
