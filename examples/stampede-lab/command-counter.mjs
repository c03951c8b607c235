import { Redis } from 'ioredis'

/**
 * Counts the commands that Redis receives from the workers, as Redis itself reports them (MONITOR). What a script does
 * inside Redis is not a command that anybody sent and is not counted; nor are the lab's own commands.
 *
 * @typedef {object} CommandCounter
 * @property {() => Promise<void>} start
 * @property {() => Promise<number>} stop  how many there were since `start`
 * @property {() => void} close
 */

/**
 * @param {string} url
 * @param {string} connectionName  that the workers' connections bear
 * @returns {Promise<CommandCounter>}
 */
export async function countCommands(url, connectionName) {
  const redis = new Redis(url, { retryStrategy: null })
  redis.on('error', () => {})
  // Not by `redis.monitor()`: that fails when it sees a command, if only of `redis`, before it sees itself as a monitor.
  const monitor = redis.duplicate({ monitor: true, lazyConnect: false })
  /** @type {Error | undefined} */
  let trouble
  monitor.on('error', (error) => (trouble = error))
  /** @type {Promise<never>} */
  const lost = new Promise((_, reject) => {
    monitor.on('end', () => reject(new Error('Redis went away', { cause: trouble })))
  })
  lost.catch(() => {})
  await Promise.race([new Promise((resolve) => monitor.once('monitoring', resolve)), lost])

  /** @type {Set<string>} */
  let addresses = new Set()
  let count = 0
  /** @type {{ text: string, seen: () => void } | undefined} */
  let awaited
  monitor.on('monitor', (/** @type {string} */ _time, /** @type {string[]} */ words, /** @type {string} */ source) => {
    if (awaited && words[0]?.toLowerCase() === 'echo' && words[1] === awaited.text) return awaited.seen()
    // A connection that is made during the stampede is the workers' if it says so.
    if (words[0]?.toLowerCase() === 'client' && words[2] === connectionName) addresses.add(source)
    if (addresses.has(source)) count++
  })

  let marks = 0
  /** MONITOR reports in the order in which Redis worked: once a mark has come by, so has everything before it. */
  async function mark() {
    const text = `${connectionName}:${++marks}`
    const seen = new Promise((resolve) => (awaited = { text, seen: () => resolve(undefined) }))
    await Promise.race([Promise.all([redis.echo(text), seen]), lost])
  }

  return {
    async start() {
      const clients = /** @type {string} */ (await redis.client('LIST')).split('\n')
      const workers = clients.filter((client) => client.includes(` name=${connectionName} `))
      addresses = new Set(workers.map((client) => /\baddr=(\S+)/.exec(client)?.[1] ?? ''))
      await mark()
      count = 0
    },
    async stop() {
      await mark()
      return count
    },
    close() {
      monitor.disconnect()
      redis.disconnect()
    },
  }
}
