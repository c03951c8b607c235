import type { RedisNode } from '../redis/connection/port.ts'

/** How many keys a server examines for one step of a scan. */
export const step = 1_000

/** How many steps a scan takes at most that only has to be good enough. */
export const mostSteps = 50

/** Some keys of a server; `isLast`: it has no others. */
interface Scanned {
  readonly names: readonly string[]
  readonly isLast: boolean
}

/**
 * Iterates over the keys of a server, a step at a time. A key may come twice.
 * @param pattern of their names, as SCAN takes it
 * @param most steps
 */
export async function* scan(server: RedisNode, pattern: string, most: number): AsyncGenerator<Scanned, void> {
  let cursor = '0'
  for (let steps = 0; steps < most; steps++) {
    const [next, names] = (await server.call('scan', [cursor, 'MATCH', pattern, 'COUNT', step])) as [
      unknown,
      readonly unknown[],
    ]
    cursor = String(next)
    yield { names: names.map(String), isLast: cursor === '0' }
    if (cursor === '0') return
  }
}
