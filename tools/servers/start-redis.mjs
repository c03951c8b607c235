/** Starts Redis servers that end with this process, however it ends. Needs ioredis, and nothing that is built. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Redis } from 'ioredis'
import { guardianOfThisProcess } from './guarded-process.mjs'
import { provisionBinary, provisionRedis } from './provision-redis.mjs'
import { until } from '../until.mjs'

/**
 * @typedef {{ host: string, port: number } | { path: string }} Place
 * @typedef {{ password?: string, tls?: { ca: string } }} Access What a client must know of a server besides its place.
 * @typedef {Place & Access} Address Where a server listens, and what lets a client in, in the words of ioredis.
 * @typedef {import('./guarded-process.mjs').GuardedProcess & { address: Address }} ServerProcess
 *
 * @typedef {object} ServerOptions
 * @property {string[]} [args] further arguments of redis-server, such as `['--maxmemory', '4mb']`
 * @property {string} [config] the text of its configuration file; no such file by default
 * @property {string} [folder] the folder of an earlier server that this one takes the place of, with the files it left
 * @property {Record<string, string>} [files] what is put into its folder beforehand: texts by their names
 * @property {Record<string, string>} [env] what its environment has on top of ours
 * @property {Access} [access] a password that it asks for; with `tls` it speaks nothing but TLS, and `args` name the
 *   certificates
 * @property {Address | 'port' | 'socket'} [listen] an address of this choice, or any free loopback port (the default),
 *   or a unix socket
 *
 * @typedef {{ url: string, stop: () => Promise<void> }} OpenRedis A Redis to talk to, and how to be done with it.
 */

const withoutPersistence = ['--save', '', '--appendonly', 'no']

/**
 * A Redis to talk to, whichever kind there is: the one that REDIS_URL names, or one started for this process alone.
 * @returns {Promise<OpenRedis>}
 */
export async function openRedis() {
  const found = await provisionRedis()
  if (found.kind === 'url') return { url: found.url, stop: async () => {} }
  if (found.kind === 'docker') return startContainer(found.image)
  const { address, stop } = await startServer()
  return { url: urlOf(address), stop }
}

/**
 * An address as one string that `new Redis(...)` takes. The certificate of an authority has no place in it.
 * @param {Address} address
 */
export function urlOf(address) {
  if ('path' in address) return address.path
  const password = address.password === undefined ? '' : `:${encodeURIComponent(address.password)}@`
  return `${address.tls ? 'rediss' : 'redis'}://${password}${address.host}:${address.port}`
}

/**
 * Starts one server without persistence; resolves when it has answered a PING, be it that it is still loading.
 * @param {ServerOptions} [options]
 * @returns {Promise<ServerProcess>}
 * @throws {Error} if it does not come up: the message holds its log
 */
export async function startServer(options = {}) {
  const { args = [], config, files = {}, env = {}, access = {}, folder: earlier, listen = 'port' } = options
  const program = await provisionBinary()
  const guardian = guardianOfThisProcess()
  for (;;) {
    const folder = earlier ?? (await guardian.newFolder())
    const place = listen === 'socket' ? { path: join(folder, 'redis.sock') } : listen === 'port' ? somePort() : listen
    const address = { ...place, ...access }
    const texts = config === undefined || earlier ? files : { ...files, 'redis.conf': config }
    for (const [name, text] of Object.entries(texts)) await writeFile(join(folder, name), text)
    const all = [...(config === undefined ? [] : ['redis.conf']), ...listenArguments(address), ...withoutPersistence]
    const environment = { ...program.env, ...env }
    const server = await guardian.start(program.binary, [...all, ...args], { folder, env: environment })
    try {
      const info = await answered(address, server.ended)
      if (info.includes(`process_id:${server.pid}\r`)) return { ...server, address }
      await server.ended
      throw new Error('Another server answers at its address')
    } catch (cause) {
      const log = await readFile(join(folder, 'log'), 'utf8')
      await server.stop()
      const portIsTaken = listen === 'port' && /in use/i.test(log)
      if (!portIsTaken) throw new Error(`The server at ${urlOf(address)} did not come up. Its log:\n${log}`, { cause })
    }
  }
}

/**
 * A port below those that the system gives to outgoing connections, and so low that the port of the cluster bus, 10000
 * above, is so too. Whether it is free is for the server to find out: between asking and binding, another process could
 * take it.
 */
function somePort() {
  return { host: '127.0.0.1', port: 10_000 + Math.floor(Math.random() * 10_000) }
}

/** @param {Address} address */
function listenArguments(address) {
  const password = address.password === undefined ? [] : ['--requirepass', address.password]
  if ('path' in address) return ['--port', '0', '--unixsocket', address.path, ...password]
  const port = String(address.port)
  const ports = address.tls ? ['--port', '0', '--tls-port', port] : ['--port', port]
  return [...ports, '--bind', address.host, ...password]
}

/**
 * Resolves when the server has answered a PING, with what INFO says of it: on a port that was taken, somebody else's
 * server may be the one that answers.
 * @param {Address} address
 * @param {Promise<unknown>} ended resolves when there is no hope any more
 */
async function answered(address, ended) {
  const client = new Redis({
    ...address,
    lazyConnect: true,
    enableReadyCheck: false,
    retryStrategy: () => 10,
    maxRetriesPerRequest: null,
  })
  client.on('error', () => {})
  try {
    const pong = client.ping().catch((error) => {
      if (!error.message.startsWith('LOADING')) throw error
    })
    const info = pong.then(() => client.info('server'))
    const end = ended.then(() => Promise.reject(new Error('It ended before it answered a PING')))
    return await Promise.race([info, end])
  } finally {
    client.disconnect()
  }
}

/**
 * The container lives as long as its standard input is open, so it too ends with this process.
 * @param {string} image
 * @returns {Promise<OpenRedis>}
 */
async function startContainer(image) {
  process.stderr.write(`herdless: starting ${image} with Docker\n`)
  const name = `herdless-${process.pid}-${Date.now()}`
  const inside = 'redis-server --save "" --protected-mode no & cat; kill $!'
  const options = ['--rm', '--interactive', '--name', name, '--publish', '127.0.0.1::6379']
  const container = spawn('docker', ['run', ...options, image, 'sh', '-c', inside], {
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  const ended = once(container, 'exit')
  const port = await until(
    `the container ${name} runs`,
    async () => container.exitCode !== null || (await publishedPort(name)),
    120_000,
  )
  if (port === true) throw new Error(`Docker could not run ${image}: see what it says above`)
  const address = { host: '127.0.0.1', port }
  await answered(address, ended)
  // Like any other server that was not stopped, it must not keep this process alive.
  container.unref()
  const stop = async () => {
    container.ref()
    container.stdin.end()
    await ended
  }
  return { url: urlOf(address), stop }
}

/** @param {string} container */
async function publishedPort(container) {
  const { stdout } = await promisify(execFile)('docker', ['port', container, '6379/tcp'])
  return Number(stdout.trim().split(':').at(-1))
}
