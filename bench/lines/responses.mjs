import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { installPeers, requirePeer } from '../peers/packages.mjs'

const worker = fileURLToPath(new URL('../framework-worker.mjs', import.meta.url))
const floor = 'Express without a cache'
const frameworks = [
  floor,
  'node:http',
  'cachedServer',
  'Express',
  'Express, session and user',
  'Koa',
  'Fastify',
  'Hono',
]

/** The addresses that were asked for: each miss has one of its own. */
let asked = 0

/**
 * The processor time of a response of 2 kB, in a server of each framework.
 * @param {'hit' | 'miss'} what
 * @param {number} count of the responses of a round
 * @returns {import('./line.mjs').Line}
 */
export function response(what, count) {
  return {
    title: `A response of 2 kB, ${what === 'hit' ? 'a copy in the process' : 'stored in Redis by its miss'}, processor time of the server`,
    unit: 'µs',
    better: 'less',
    floor,
    goals: {},
    async open({ folder, url }) {
      await installPeers()
      /** @type {typeof import('autocannon')} */
      const autocannon = requirePeer('autocannon')
      const servers = await Promise.all(frameworks.map((name) => startServer(folder, name, what === 'hit' ? '' : url)))
      const setupRequest = (/** @type {import('autocannon').Request} */ request) => ({
        ...request,
        path: `/page?${asked++}`,
      })
      const requests = what === 'hit' ? [{}] : [{ setupRequest }]
      const ways = servers.map(({ name, child, page }) => {
        const way = async () => {
          const before = await userTime(child)
          const result = await autocannon({ url: page, connections: 10, amount: count, requests })
          if (result['2xx'] !== count) throw new Error(`Expected ${count} responses, got ${result['2xx']}`)
          return ((await userTime(child)) - before) / count
        }
        return [name, way]
      })
      return {
        ways: Object.fromEntries(ways),
        close: async () => {
          for (const { child } of servers) child.kill()
        },
      }
    },
  }
}

/** @param {string} folder @param {string} name @param {string} redisUrl */
async function startServer(folder, name, redisUrl) {
  const child = fork(worker, [folder, name, redisUrl])
  const [{ port }] = await once(child, 'message')
  return { name, child, page: `http://127.0.0.1:${port}/page` }
}

/**
 * The processor time that a server has used outside of the kernel, in microseconds: what the system calls of an answer cost
 * varies more than all the rest. @param {import('node:child_process').ChildProcess} child
 */
async function userTime(child) {
  child.send('processor time')
  const [{ user }] = await once(child, 'message')
  return user
}
