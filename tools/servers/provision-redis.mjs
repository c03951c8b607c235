#!/usr/bin/env node
/**
 * Finds a Redis to run, or fetches one, without root and without asking. The lab, the tests and CI all come here, so
 * this file runs on bare Node, before anything is installed or built. In this order:
 *
 *  1. `REDIS_URL`: a server is given
 *  2. `redis-server` or `valkey-server` on the PATH
 *  3. a copy fetched earlier, in node_modules/.cache/herdless
 *  4. on Debian and its relatives, the system's own package, fetched and unpacked into that cache
 *  5. Docker, where its engine answers
 *
 * As a command it prints what it found as one line of JSON on stdout; what it does meanwhile goes to stderr.
 */
import { execFile } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, findServer, foldersOfPath } from './redis-program.mjs'
import { fetchedEarlier, fetchPackage } from './system-package.mjs'

/**
 * @typedef {import('./redis-program.mjs').RedisBinary} RedisBinary
 * @typedef {{ kind: 'url', url: string }} RedisUrl A server that runs already.
 * @typedef {{ kind: 'docker', image: string }} RedisImage An image that the Docker engine here can run.
 */

/** @type {import('./system-package.mjs').SystemPackage<RedisBinary>} */
const server = {
  name: 'redis',
  what: 'redis-server',
  packages: [
    ['redis-server', 'redis-tools'],
    ['valkey-server', 'valkey-tools'],
  ],
  find: (root) => findServer([join(root, 'usr/bin')]),
  tried: describe,
}

/**
 * A Redis, in the order above.
 * @returns {Promise<RedisBinary | RedisUrl | RedisImage>}
 * @throws {Error} where there is none: the message names the ways out.
 */
export async function provisionRedis() {
  const url = process.env['REDIS_URL']
  if (url) return { kind: 'url', url }
  const { found, reason } = await findOrFetch()
  if (found) return found
  if (await dockerAnswers()) return { kind: 'docker', image: 'redis:7-alpine' }
  throw new Error(
    `There is no Redis here, and none could be fetched: ${reason}. One of these three helps: set REDIS_URL to a ` +
      `server that may be written to; install redis-server or valkey-server so that it is on the PATH; start Docker.`,
  )
}

/**
 * A server program: for those who start, freeze and kill servers of their own, which a given URL does not allow.
 * @returns {Promise<RedisBinary>}
 * @throws {Error} where there is none: the message names the way out.
 */
export async function provisionBinary() {
  const { found, reason } = await findOrFetch()
  if (found) return found
  throw new Error(
    `There is no Redis program here, and none could be fetched: ${reason}. Install redis-server or valkey-server so ` +
      `that it is on the PATH. REDIS_URL and Docker do not help: what is started here is frozen and killed on purpose.`,
  )
}

/** @returns {Promise<{ found: RedisBinary, reason?: never } | { found?: never, reason: string }>} */
async function findOrFetch() {
  const installed = findServer(foldersOfPath())
  if (installed) return { found: await describe(installed, {}) }
  try {
    return { found: (await fetchedEarlier(server)) ?? (await fetchPackage(server)) }
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) }
  }
}

async function dockerAnswers() {
  return promisify(execFile)('docker', ['info']).then(
    () => true,
    () => false,
  )
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  provisionRedis().then(
    (found) => process.stdout.write(`${JSON.stringify(found)}\n`),
    (error) => {
      process.stderr.write(`herdless: ${error.message}\n`)
      process.exitCode = 1
    },
  )
}
