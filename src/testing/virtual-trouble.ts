import { checkOptions, fraction, timeout } from '../core/options/checks.ts'
import type { Duration } from '../core/time/duration.ts'

/** What befalls commands and messages at random on their way; each is a part of all, from 0 to 1, and none by default. */
export interface VirtualTrouble {
  /** Commands that get lost on their way there, or with their answer on its way back: they are never answered. */
  readonly lost?: number | undefined
  /** Commands that are rejected because the connection breaks, before they are carried out or after. */
  readonly cut?: number | undefined
  /** Commands that are carried out twice, because the connection breaks and the client sends them again. */
  readonly repeated?: number | undefined
  /** How much later these are sent again, at most. Default `'40ms'`. */
  readonly reconnect?: Duration | undefined
  /** Messages, that a load has ended or a lock is free, that get lost. */
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

/** Throws TypeError for what is no trouble. */
export function checkedTrouble(name: string, value: unknown): Trouble {
  const given = checkOptions(name, value as object, checks)
  return { lost: 0, cut: 0, repeated: 0, reconnect: 40, lostMessages: 0, ...given }
}
