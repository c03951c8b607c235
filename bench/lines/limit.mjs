import { fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const worker = fileURLToPath(new URL('../limit-worker.mjs', import.meta.url))
const [processes, keys, concurrency, loaderTime] = [4, 1_000, 20, 50]
const ideal = `each key loaded once, ${concurrency} at a time`

/** What a limit on a source adds to keys ÷ limit × load time. @type {import('./line.mjs').Line} */
export const limit = {
  title: `${processes} processes that all want the same ${keys} cold keys, a limit of ${concurrency} loads, loader ${loaderTime} ms: until each process has all`,
  unit: 'ms',
  better: 'less',
  floor: ideal,
  goals: { herdless: 1.15 },
  async open({ url, folder }) {
    // Another build beside this one has keys of its own.
    const args = [url, folder, `${concurrency}`, `bench-limit-${randomUUID()}`]
    const fleet = Array.from({ length: processes }, () => fork(worker, args))
    await Promise.all(fleet.map((child) => once(child, 'message')))
    let round = 0
    const last = async (/** @type {'ideal' | 'herdless'} */ way) => {
      const reports = fleet.map((child) => once(child, 'message'))
      const order = { way, round: round++, keys, processes, loaderTime, startAt: Date.now() + 100 }
      for (const child of fleet) child.send(order)
      const all = (await Promise.all(reports)).map(([report]) => report)
      const loads = all.reduce((sum, report) => sum + report.loads, 0)
      if (loads !== keys) throw new Error(`Expected ${keys} loads in the fleet, counted ${loads}`)
      return Math.max(...all.map((report) => report.last))
    }
    return {
      ways: { [ideal]: () => last('ideal'), herdless: () => last('herdless') },
      close: async () => {
        for (const child of fleet) child.kill()
      },
    }
  },
}
