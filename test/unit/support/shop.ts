import {
  virtualFleet,
  type VirtualFleet,
  type VirtualFleetOptions,
  type VirtualProcess,
} from '../../../src/testing/index.ts'

/** A price, and the number of the process that asked the source for it. */
export interface Price {
  readonly by: number
}

/** Code as users write it: prices, each of which takes 500 ms by the clock of its process. */
export class Prices {
  readonly #process: VirtualProcess
  readonly #queries: number[]

  /** @param queries the number of each process that asks the source, in order */
  constructor(process: VirtualProcess, queries: number[]) {
    this.#process = process
    this.#queries = queries
  }

  of(product: string): Promise<Price> {
    const { cache, number } = this.#process
    return cache.getOrLoad(`price:${product}`, async () => {
      this.#queries.push(number)
      await this.#process.sleep('500ms')
      return { by: number }
    })
  }
}

export interface Shop {
  readonly fleet: VirtualFleet<3>
  readonly a: VirtualProcess
  readonly b: VirtualProcess
  readonly c: VirtualProcess
  readonly prices: readonly [Prices, Prices, Prices]
  readonly queries: readonly number[]
  /** Has all ask for the same price. */
  readonly all: () => Promise<Price>[]
}

/** Three processes that have prices. */
export function shop(options: Omit<VirtualFleetOptions, 'processes'> = {}): Shop {
  const cache = { leaseTtl: '2s', ttl: '1h' } as const
  const fleet = virtualFleet({ seed: 7, latency: { min: 1, max: 5 }, cache, ...options, processes: 3 })
  const [a, b, c] = fleet.processes
  const queries: number[] = []
  const prices = [new Prices(a, queries), new Prices(b, queries), new Prices(c, queries)] as const
  return { fleet, a, b, c, prices, queries, all: () => prices.map((each) => each.of('x')) }
}
