/**
 * A process that wants a lock, again and again, and notes when it has it. Its moments are those of the machine, so that
 * they can be compared with those of others.
 *
 * @typedef {import('./referee.ts').Turn} Turn
 */
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { obey, processIndex, redisLock, redlock, tell } from '../support/fleet-base.mjs'

/** @type {import('../../src/core/lock.ts').Lock} */
let lock
let turns = 0

obey({
  /** @param {import('./referee.ts').Opening} opening */
  async open({ kind, addresses, options }) {
    const clients = addresses.map((address) => new Redis({ ...address }))
    for (const client of clients) client.on('error', () => {})
    await Promise.all(clients.map((client) => client.ping()))
    const [client] = clients
    lock = kind === 'redlock' || client === undefined ? redlock(clients, options) : redisLock(client, options)
  },

  /**
   * Has the lock so many times, from each of so many callers at once. Resolves with how long each of them waited.
   * @param {import('./referee.ts').Contention} contention
   */
  async contend({ name, callers, times, hold, options }) {
    /** @type {number[]} */
    const waits = []
    const call = async () => {
      for (let time = 0; time < times; time++) {
        const asked = now()
        const lease = await lock.acquire(name, options)
        waits.push(now() - asked)
        await have(lease, hold)
      }
    }
    await Promise.all(Array.from({ length: callers }, call))
    return waits
  },

  /** Has the lock until told otherwise. @param {{ name: string, options: object }} order */
  async take({ name, options }) {
    const lease = await lock.acquire(name, options)
    void have(lease, 600_000)
  },

  close: () => lock.close(),
})

/**
 * @param {import('../../src/core/lock.ts').LockLease} lease
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
