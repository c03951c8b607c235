import { setTimeout as sleep } from 'node:timers/promises'
import { heapUsed, processorTime } from './line.mjs'

const callers = 20_000

/** Callers that join a load of their own process: processor time of each, with its answer. @type {import('./line.mjs').Line} */
export const joins = {
  title: 'A caller that joins a load of its own process, processor time',
  unit: 'µs',
  better: 'less',
  floor: 'a promise in a Map',
  goals: {},
  async open({ herdless }) {
    const crowd = async (/** @type {(loader: () => Promise<string>, first: boolean) => Promise<unknown>} */ ask) => {
      /** @type {(value: string) => void} */
      let end = () => undefined
      const loaded = new Promise((/** @type {(value: string) => void} */ resolve) => (end = resolve))
      const loader = () => loaded
      const leader = ask(loader, true)
      await sleep(5)
      /** @type {Promise<unknown>[]} */
      const all = []
      const time = await processorTime(callers, async () => {
        for (let caller = 0; caller < callers; caller++) all.push(ask(loader, false))
        end('v')
        await Promise.all(all)
      })
      await leader
      return time
    }
    const cache = herdless.createCache()
    let key = 0
    /** @type {Map<string, Promise<unknown>>} */
    const flights = new Map()
    return {
      ways: {
        'a promise in a Map': () => {
          const name = `k${key++}`
          return crowd((loader) => {
            const known = flights.get(name)
            if (known !== undefined) return known
            const flight = loader()
            flights.set(name, flight)
            return flight
          })
        },
        herdless: () => {
          const name = `k${key++}`
          return crowd((loader) => cache.getOrLoad(name, loader))
        },
        'herdless, { ttl } in the call': () => {
          const name = `k${key++}`
          return crowd((loader) => cache.getOrLoad(name, loader, { ttl: '1m' }))
        },
        'herdless, all in one tick': () => {
          const name = `k${key++}`
          return processorTime(callers, async () => {
            const loader = () => sleep(5, 'v')
            await Promise.all(Array.from({ length: callers }, () => cache.getOrLoad(name, loader)))
          })
        },
      },
      close: () => cache.close(),
    }
  },
}

/** The heap that a caller takes while it waits. @type {import('./line.mjs').Line} */
export const waiting = {
  title: 'A caller that waits for a load of its own process, heap',
  unit: 'bytes',
  better: 'less',
  floor: 'herdless',
  goals: {},
  async open({ herdless }) {
    const cache = herdless.createCache()
    let key = 0
    const kept = async (/** @type {boolean} */ isLoading) => {
      const name = `k${key++}`
      /** @type {(value: string) => void} */
      let end = () => undefined
      const loaded = new Promise((/** @type {(value: string) => void} */ resolve) => (end = resolve))
      const loader = () => loaded
      const leader = isLoading ? cache.getOrLoad(name, loader) : null
      await sleep(5)
      /** @type {Promise<unknown>[]} */
      const all = Array.from({ length: callers })
      const before = heapUsed()
      for (let caller = 0; caller < callers; caller++) all[caller] = cache.getOrLoad(name, loader)
      await sleep(20)
      const after = heapUsed()
      end('v')
      await Promise.all([leader, ...all])
      return (after - before) / callers
    }
    return {
      ways: { herdless: () => kept(true), 'herdless, all in one tick': () => kept(false) },
      close: () => cache.close(),
    }
  },
}
