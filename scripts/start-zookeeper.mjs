/** Starts ZooKeeper servers that end with this process, however it ends. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createClient } from 'node-zookeeper-client'
import { guardianOfThisProcess } from './guarded-process.mjs'
import { provisionZooKeeper } from './provision-zookeeper.mjs'
import { until } from './until.mjs'

/** @typedef {import('./guarded-process.mjs').GuardedProcess & { address: { host: string, port: number } }} ZooKeeperProcess */

/**
 * Starts one server by itself, whose sessions may be as short as 200 ms; resolves when it answers.
 * @returns {Promise<ZooKeeperProcess>}
 * @throws {Error} if there is none, or it does not come up: the message holds its log
 */
export async function startZooKeeper() {
  const { java, classPath } = await provisionZooKeeper()
  const guardian = guardianOfThisProcess()
  for (;;) {
    const folder = await guardian.newFolder()
    const port = 20_000 + Math.floor(Math.random() * 10_000)
    const settings = {
      tickTime: 100,
      dataDir: join(folder, 'data'),
      clientPort: port,
      clientPortAddress: '127.0.0.1',
      'admin.enableServer': false,
      minSessionTimeout: 200,
      maxSessionTimeout: 60_000,
      maxClientCnxns: 0,
    }
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`)
    await writeFile(join(folder, 'zoo.cfg'), lines.join(''))
    const options = ['-Xmx128m', '-Dzookeeper.forceSync=no', '-cp', classPath]
    const args = [...options, 'org.apache.zookeeper.server.ZooKeeperServerMain', 'zoo.cfg']
    const server = await guardian.start(java, args, { folder, env: {} })
    let ended = false
    void server.ended.then(() => (ended = true))
    try {
      // The log, too: another server may have taken the port just before.
      const log = () => readFile(join(folder, 'log'), 'utf8')
      await until(
        'ZooKeeper answers',
        async () => ended || ((await log()).includes('audit is') && answers(port)),
        30_000,
      )
      if (!ended) return { ...server, address: { host: '127.0.0.1', port } }
    } catch (cause) {
      await server.stop()
      throw new Error(`ZooKeeper did not come up. Its log:\n${await readFile(join(folder, 'log'), 'utf8')}`, { cause })
    }
    const log = await readFile(join(folder, 'log'), 'utf8')
    if (!/in use/i.test(log)) throw new Error(`ZooKeeper did not come up. Its log:\n${log}`)
  }
}

/**
 * @param {number} port
 * @returns {Promise<boolean>}
 */
function answers(port) {
  return new Promise((resolve) => {
    const client = createClient(`127.0.0.1:${port}`, { sessionTimeout: 1_000, spinDelay: 10, retries: 0 })
    const timer = setTimeout(() => end(false), 500)
    const end = (/** @type {boolean} */ up) => {
      clearTimeout(timer)
      client.close()
      resolve(up)
    }
    client.once('connected', () => end(true))
    client.connect()
  })
}
