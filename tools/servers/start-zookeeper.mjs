/** Starts ZooKeeper servers that end with this process, however it ends. */
import { readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { guardianOfThisProcess } from './guarded-process.mjs'
import { provisionZooKeeper } from './provision-zookeeper.mjs'
import { until } from '../until.mjs'

/** @typedef {import('./guarded-process.mjs').GuardedProcess & { address: { host: string, port: number } }} ZooKeeperProcess */
/** @typedef {(port: number, from: number, to: number) => Promise<number>} WayTo where a server finds a port of another */

/**
 * Starts one server by itself, whose sessions may be as short as 200 ms; resolves when it answers.
 * @returns {Promise<ZooKeeperProcess>}
 * @throws {Error} if there is none, or it does not come up: the message holds its log
 */
export async function startZooKeeper() {
  for (;;) {
    const server = await launch(randomPort())
    if (await allAnswer([server])) return server
  }
}

/**
 * Starts three servers, numbered from 1, that ask each other for their sessions four times a second. Each goes on
 * answering reads for 10 s when it hears no more of the others. The third follows one of the others.
 * @param {WayTo} wayTo
 * @returns {Promise<ZooKeeperProcess[]>}
 * @throws {Error} as `startZooKeeper` does
 */
export async function startZooKeeperEnsemble(wayTo) {
  for (;;) {
    const port = randomPort()
    const member = async (/** @type {number} */ id) =>
      await launch(port + id, { tickTime: 500, initLimit: 20, syncLimit: 20, ...(await members(port, id, wayTo)) }, id)
    const servers = await Promise.all([member(1), member(2)])
    if (!(await allAnswer(servers))) continue
    servers.push(await member(3))
    if (await allAnswer(servers)) return servers
  }
}

/**
 * The members of an ensemble, as one of them is told.
 * @param {number} port
 * @param {number} self
 * @param {WayTo} wayTo
 */
async function members(port, self, wayTo) {
  /** @type {Record<string, string>} */
  const lines = {}
  for (const id of [1, 2, 3]) {
    const [peer, election] = [port + 10 + id, port + 20 + id]
    // To elect a leader, the greater number calls the lesser; called itself, it would call back where the lesser says it
    // is, whatever the way to it: so nobody knows where to call it.
    const callable = async () => (id > self ? 1 : await wayTo(election, self, id))
    const ports = id === self ? [peer, election] : [await wayTo(peer, self, id), await callable()]
    lines[`server.${id}`] = `127.0.0.1:${ports.join(':')}`
  }
  return lines
}

/** Below those that the system gives to clients. */
function randomPort() {
  return 20_000 + Math.floor(Math.random() * 10_000)
}

/**
 * @param {number} port
 * @param {Record<string, string | number>} [more] settings
 * @param {number} [id]
 * @returns {Promise<ZooKeeperProcess>}
 */
async function launch(port, more = {}, id = 1) {
  const { java, classPath } = await provisionZooKeeper()
  const guardian = guardianOfThisProcess()
  const folder = await guardian.newFolder()
  const settings = {
    tickTime: 100,
    dataDir: folder,
    clientPort: port,
    clientPortAddress: '127.0.0.1',
    'admin.enableServer': false,
    minSessionTimeout: 200,
    maxSessionTimeout: 60_000,
    maxClientCnxns: 0,
    ...more,
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`)
  await writeFile(join(folder, 'zoo.cfg'), lines.join(''))
  await writeFile(join(folder, 'myid'), String(id))
  // Whether it answers is asked often, and each time would be a line of its log.
  const quiet = '-Dorg.slf4j.simpleLogger.log.org.apache.zookeeper.server.NIOServerCnxn=warn'
  const options = ['-Xmx128m', '-Dzookeeper.forceSync=no', quiet, '-cp', classPath]
  const args = [...options, 'org.apache.zookeeper.server.quorum.QuorumPeerMain', 'zoo.cfg']
  const server = await guardian.start(java, args, { folder, env: {} })
  return { ...server, address: { host: '127.0.0.1', port } }
}

/**
 * Waits until all answer; stops them all where one has found one of its ports in use.
 * @param {readonly ZooKeeperProcess[]} servers
 * @returns {Promise<boolean>} `false` if they were stopped
 * @throws {Error} as `startZooKeeper` does
 */
async function allAnswer(servers) {
  let ended = false
  for (const server of servers) void server.ended.then(() => (ended = true))
  const logs = async () => await Promise.all(servers.map(({ folder }) => readFile(join(folder, 'log'), 'utf8')))
  const inUse = async () => (await logs()).some((log) => /in use/i.test(log))
  // The log, too: another server may have taken the port just before.
  const up = async () =>
    (await logs()).every((log) => log.includes('audit is')) &&
    (await Promise.all(servers.map(({ address }) => answers(address.port)))).every(Boolean)
  let cause
  try {
    await until('ZooKeeper answers', async () => ended || (await inUse()) || (await up()), 30_000)
    if (!ended && !(await inUse())) return true
  } catch (error) {
    cause = error
  }
  const retry = await inUse()
  const said = (await logs()).join('\n')
  await Promise.all(servers.map((server) => server.stop()))
  if (retry) return false
  throw new Error(`ZooKeeper did not come up. Its log:\n${said}`, { cause })
}

/**
 * Whether a server serves: in an ensemble it has found a leader.
 * @param {number} port
 */
async function answers(port) {
  const socket = connect(port, '127.0.0.1')
  socket.setEncoding('utf8').write('srvr')
  let answer = ''
  for await (const text of socket) answer += text
  return answer.includes('Mode: ')
}
