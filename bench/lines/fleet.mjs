import { fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'

const worker = fileURLToPath(new URL('../stampede-worker.mjs', import.meta.url))

/** @typedef {{ last: number, loads: number, errors: number }} Report */
/** @typedef {{ loaderTime: number, leaseTtl: number }} Case */

/**
 * Starts four processes with one cache each.
 * @param {string} url of a Redis
 * @param {string} folder of the compiled modules
 */
export async function startFleet(url, folder) {
  const processes = Array.from({ length: 4 }, () => fork(worker, [url, folder]))
  await Promise.all(processes.map((child) => once(child, 'message')))
  return {
    /**
     * 250 callers in each process ask for one cold key at once.
     * @param {Case} about
     * @returns {Promise<Report[]>}
     */
    async stampede({ loaderTime, leaseTtl }) {
      const reports = processes.map((child) => once(child, 'message'))
      const startAt = Date.now() + 100
      const key = randomUUID()
      for (const child of processes) child.send({ key, callers: 250, loaderTime, fails: false, leaseTtl, startAt })
      return (await Promise.all(reports)).map(([report]) => report)
    },
    stop() {
      for (const child of processes) child.kill()
    },
  }
}

/** The time of the last caller of 4 × 250 against that of the loader. @param {'cold' | 'warm'} state @returns {import('./line.mjs').Line} */
export function stampede(state) {
  const loaderTime = 200
  return {
    title: `4 processes × 250 callers of one key, loader ${loaderTime} ms, ${state === 'cold' ? 'processes just started' : 'after 20 such stampedes'}: the last answer`,
    unit: 'ms',
    better: 'less',
    floor: 'the loader',
    goals: { herdless: state === 'cold' ? 1.04 : 1.02 },
    async open({ url, folder }) {
      const warm = state === 'warm' ? await startFleet(url, folder) : null
      for (let round = 0; round < 20; round++) await warm?.stampede({ loaderTime: 5, leaseTtl: 10_000 })
      return {
        ways: {
          'the loader': async () => loaderTime,
          herdless: async () => {
            const fleet = warm ?? (await startFleet(url, folder))
            const reports = await fleet.stampede({ loaderTime, leaseTtl: 10_000 })
            if (warm === null) fleet.stop()
            const loads = reports.reduce((sum, report) => sum + report.loads, 0)
            if (loads !== 1) throw new Error(`Expected one load in the fleet, counted ${loads}`)
            return Math.max(...reports.map(({ last }) => last))
          },
        },
        close: async () => warm?.stop(),
      }
    },
  }
}

/** The commands that a slow load costs, those within scripts included. @type {import('./line.mjs').Line} */
export const slowLoader = {
  title: '4 processes × 250 callers, loader 3 s, lease 1 s: commands of Redis, those within scripts included',
  unit: 'commands',
  better: 'less',
  floor: 'goal',
  goals: { herdless: 1 },
  async open({ url, folder }) {
    const client = new Redis(url)
    const fleet = await startFleet(url, folder)
    return {
      ways: {
        goal: async () => 120,
        herdless: async () => {
          await client.config('RESETSTAT')
          const reports = await fleet.stampede({ loaderTime: 3_000, leaseTtl: 1_000 })
          const stats = await client.info('commandstats')
          const loads = reports.reduce((sum, report) => sum + report.loads, 0)
          if (loads !== 1) throw new Error(`Expected one load in the fleet, counted ${loads}`)
          // Not those of this client.
          return [...stats.matchAll(/cmdstat_(?!config|info)[^:]+:calls=(\d+)/gu)].reduce(
            (sum, [, calls]) => sum + Number(calls),
            0,
          )
        },
      },
      close: async () => {
        fleet.stop()
        client.disconnect()
      },
    }
  },
}
