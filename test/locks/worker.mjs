/**
 * A process that wants a lock, again and again, and notes when it has it. Its moments are those of the machine, so that
 * they can be compared with those of others.
 *
 * @typedef {import('./referee.ts').Turn} Turn
 */
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { fromBuild, obey, processIndex, redisLock, redlock, tell } from '../support/fleet-base.mjs'

/** @type {import('../../src/core/contract/lock.ts').Lock} */
let lock
let turns = 0
let mayRest = false

/**
 * Each kind of lock, from where its servers are and its options.
 * @type {Record<string, (addresses: readonly object[], options: object) => Promise<import('../../src/core/contract/lock.ts').Lock>>}
 */
const kinds = {
  async redis([address], options) {
    const [client] = await redisClients([address ?? {}])
    return redisLock(/** @type {Redis} */ (client), options)
  },

  redlock: async (addresses, options) => redlock(await redisClients(addresses), options),

  async postgres([address], options) {
    const { default: pg } = await import('pg')
    /** @type {typeof import('../../src/postgres/index.ts')} */
    const { postgresLock } = await fromBuild('postgres/index.js')
    const pool = new pg.Pool({ ...address, max: 4 })
    pool.on('error', () => {})
    await pool.query('SELECT 1')
    return postgresLock(pool, options)
  },

  async zookeeper([address], options) {
    const { createClient } = await import('node-zookeeper-client')
    /** @type {typeof import('../../src/zookeeper/index.ts')} */
    const { zookeeperLock } = await fromBuild('zookeeper/index.js')
    const { host, port } = /** @type {{ host: string, port: number }} */ (address)
    return zookeeperLock(() => createClient(`${host}:${port}`, { sessionTimeout: 1_000, spinDelay: 50 }), options)
  },
}

/** @param {readonly object[]} addresses */
async function redisClients(addresses) {
  const clients = addresses.map((address) => new Redis({ ...address }))
  for (const client of clients) client.on('error', () => {})
  await Promise.all(clients.map((client) => client.ping()))
  return clients
}

obey({
  /** @param {import('./referee.ts').Opening} opening */
  async open({ kind, addresses, options }) {
    const open = kinds[kind]
    if (open === undefined) throw new TypeError(`There is no lock of kind ${kind}`)
    lock = await open(addresses, options)
  },

  /**
   * Has the lock so many times, or until it may rest, from each of so many callers at once. Resolves with how long each
   * of them waited.
   * @param {import('./referee.ts').Contention} contention
   */
  async contend({ name, callers, times = Infinity, hold, options }) {
    /** @type {number[]} */
    const waits = []
    const call = async () => {
      for (let time = 0; time < times && !mayRest; time++) {
        const asked = now()
        const lease = await lock.acquire(name, options)
        waits.push(now() - asked)
        await have(lease, hold)
      }
    }
    await Promise.all(Array.from({ length: callers }, call))
    return waits
  },

  rest() {
    mayRest = true
  },

  /** Has the lock until told otherwise. @param {{ name: string, options: object }} order */
  async take({ name, options }) {
    const lease = await lock.acquire(name, options)
    void have(lease, 600_000)
  },

  close: () => lock.close(),
})

/**
 * @param {import('../../src/core/contract/lock.ts').LockLease} lease
 * @param {number} hold
 */
async function have(lease, hold) {
  const turn = `${processIndex}.${++turns}`
  tell({ turn, entered: now(), fence: String(lease.fence), name: lease.name })
  lease.signal.addEventListener('abort', () => tell({ turn, lost: now() }))
  await pause(hold)
  const valid = lease.isValid()
  tell({ turn, left: now(), valid })
  tell({ turn, released: await lease.release() })
}

function now() {
  return Number(process.hrtime.bigint()) / 1e6
}
