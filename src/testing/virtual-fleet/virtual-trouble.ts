import { checkOptions, fraction, timeout } from '../../core/options/checks.ts'
import type { Duration } from '../../core/time/duration.ts'

/** The random faults of commands and messages; each is a probability from 0 to 1. Default 0. */
export interface VirtualTrouble {
  /** Commands that are lost on their way, or whose answer is: they are never answered. */
  readonly lost?: number | undefined
  /** Commands that are rejected because the connection breaks, before or after they are carried out. */
  readonly cut?: number | undefined
  /** Commands that are carried out twice, because the connection breaks and the client sends them again. */
  readonly repeated?: number | undefined
  /** The longest time until they are sent again. Default `'40ms'`. */
  readonly reconnect?: Duration | undefined
  /** Messages about an ended load or a free lock that are lost. */
  readonly lostMessages?: number | undefined
}

/** `VirtualTrouble`, complete and checked, in milliseconds. */
export interface Trouble {
  readonly lost: number
  readonly cut: number
  readonly repeated: number
  readonly reconnect: number
  readonly lostMessages: number
}

const checks = { lost: fraction, cut: fraction, repeated: fraction, reconnect: timeout(0), lostMessages: fraction }

/**
 * The checked faults.
 * @throws TypeError for an unknown fault or a wrong value
 */
export function checkedTrouble(name: string, value: unknown): Trouble {
  const given = checkOptions(name, value as object, checks)
  return { lost: 0, cut: 0, repeated: 0, reconnect: 40, lostMessages: 0, ...given }
}
