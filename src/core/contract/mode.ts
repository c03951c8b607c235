/**
 * The mode of a cache. `cache`: values are read from the store and stored there. `observe`: each call runs its loader, and
 * the cache counts what it would have saved. `off`: the calls of one process for a key join one load.
 */
export type Mode = 'cache' | 'observe' | 'off'

/** All modes; of two, the later one holds. */
export const modes: readonly Mode[] = ['cache', 'observe', 'off']

/** The mode of all processes, and for how many milliseconds it still holds; `Infinity` if it has no end. */
export interface FleetMode {
  readonly mode: Mode
  readonly left: number
}
