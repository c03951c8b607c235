/** The interface of the adapters of peers, and their common functions. */
import { once } from 'node:events'

/**
 * @typedef {object} Setup
 * @property {string} url of a Redis
 * @property {string} name of the connections, by which their commands are counted
 * @property {string} namespace that the keys in Redis begin with
 * @property {boolean} memory whether there is a tier in the process as well, where the peer can have one
 * @property {number} [lockTtl] milliseconds that a lock lives unless it is renewed, where the peer has one; its default otherwise
 *
 * @typedef {() => Promise<unknown>} Load
 *
 * @typedef {object} Peer a cache as its own documentation sets it up, with values that live a minute
 * @property {(key: string, loader: Load) => Promise<unknown>} getOrLoad
 * @property {(key: string) => Promise<unknown>} invalidate
 * @property {() => Promise<unknown>} close
 */

/**
 * @typedef {object} About
 * @property {string} title
 * @property {string | null} package one of the dependencies of package.json, which has the version; null for no package of others
 * @property {'ioredis' | 'node-redis'} client
 * @property {'no' | 'alone' | 'before Redis'} memory whether there is a tier in the process, and whether it can be put before Redis
 * @property {string} [adapter] its file in adapters/, where that is not its name
 */

/** The peers, in the order of the tables. @type {Record<string, About>} */
export const peers = {
  nothing: { title: 'cache-aside, no protection', package: null, client: 'ioredis', memory: 'no' },
  'async-cache-dedupe': {
    title: 'async-cache-dedupe',
    package: 'async-cache-dedupe',
    client: 'ioredis',
    memory: 'alone',
  },
  bentocache: { title: 'bentocache', package: 'bentocache', client: 'ioredis', memory: 'before Redis' },
  'cache-manager': { title: 'cache-manager', package: 'cache-manager', client: 'node-redis', memory: 'before Redis' },
  cacheable: { title: 'cacheable', package: 'cacheable', client: 'node-redis', memory: 'before Redis' },
  cachified: { title: '@epic-web/cachified', package: '@epic-web/cachified', client: 'node-redis', memory: 'alone' },
  'layered-loader': { title: 'layered-loader', package: 'layered-loader', client: 'ioredis', memory: 'before Redis' },
  redlock: { title: 'redlock, look again inside', package: 'redlock', client: 'ioredis', memory: 'no' },
  herdless: { title: 'herdless', package: null, client: 'ioredis', memory: 'no' },
  'herdless-near': {
    title: 'herdless with `near`',
    package: null,
    client: 'ioredis',
    memory: 'before Redis',
    adapter: 'herdless',
  },
}

/**
 * A client of ioredis, once it is ready.
 * @template {import('ioredis').Redis} Client
 * @param {Client} client
 * @returns {Promise<Client>}
 */
export async function connected(client) {
  await once(client, 'ready')
  return client
}

/** For caches that are given one loader when they are made: it runs the loader of the latest call for the key. */
export function loaders() {
  /** @type {Map<string, Load>} */
  const wanted = new Map()
  return {
    load: async (/** @type {string} */ key) => wanted.get(key)?.(),
    withLoader:
      (/** @type {(key: string) => Promise<unknown>} */ get) =>
      (/** @type {string} */ key, /** @type {Load} */ load) => {
        wanted.set(key, load)
        return get(key)
      },
  }
}
