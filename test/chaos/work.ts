import type { RedisSpec } from '../support/fleet.ts'
import type { Happening } from '../support/history.ts'

/** What a process of the fleet does all the time. Shares are of 1; all choices are drawn by chance. */
export interface Work {
  /** How many calls each process makes in a second, whether or not the last ones have been answered. */
  readonly rate: number
  /** How many keys are asked for all the time, and how many others now and then. */
  readonly hotKeys: number
  readonly coldKeys: number
  readonly cold: number
  /** How many calls are for one of two keys with 12 MB. */
  readonly huge: number
  /** How many calls are made at once. */
  readonly together: number
  /** How many calls are invalidations and sets. */
  readonly invalidations: number
  readonly sets: number
  /** The shortest and the longest ttl, and a usual load, in milliseconds. */
  readonly ttl: readonly [number, number]
  readonly loadTime: readonly [number, number]
  /** What callers choose from. */
  readonly graces: readonly number[]
  readonly softTimeouts: readonly number[]
  /** None for what the library does when a caller says nothing. */
  readonly waitTimeouts: readonly number[]
  /** How many loads take so long that their lease must be renewed, and how long that is, in milliseconds. */
  readonly slow: number
  readonly slowTime: number
  /** How many loads ask for another key themselves, and how many return more than fits into a message. */
  readonly nested: number
  readonly large: number
  /** How many loads end in another way than with a value. */
  readonly source: Readonly<Partial<Record<Ending, number>>>
  /** How many of the hot keys have values that must not be stored. */
  readonly privateKeys: number
  /** What callers ask for, in milliseconds; `undefined` for the default of the library. */
  readonly leaseTtl: number | undefined
  readonly failureCooldown: number | undefined
  readonly hardTimeout: number | undefined
  /** What a process begins with, and cannot change any more. */
  readonly commandTimeout: number | undefined
  readonly wakeUp: 'push' | 'poll'
  /** Whether it keeps copies, for how long in milliseconds; 0 for none. */
  readonly nearTtl: number
  /** How many calls invalidate a tag, of which there are so many; no value has one if there are none. */
  readonly tagInvalidations: number
  readonly tags: number
  /** How many loads the source of all allows at a time in the whole fleet; 0 for no limit. */
  readonly limit: number
  /** How many calls are of loads in two halves: who leads does what a loader would, and one that hangs never calls. */
  readonly halves: number
}

/**
 * How a load can end instead of with a value: its loader throws later or at once, never ends, returns what no codec
 * keeps, or says that the value must not be stored.
 */
export type Ending = 'throws' | 'throws at once' | 'hangs' | 'returns garbage' | 'must not be stored'

/** The namespace of all caches, and the keys that processes ask for. */
export const namespace = 'chaos'

export function hotKey(number: number): string {
  return `hot ${number}`
}

export function isHot(key: string): boolean {
  return key.startsWith('hot ')
}

export function isHuge(key: string): boolean {
  return key.startsWith('huge ')
}

/** The settings of the library that a fleet works under, in milliseconds, said or not. */
export interface InForce {
  readonly leaseTtl: number
  readonly waitTimeout: number
  readonly commandTimeout: number
}

/** What a process needs to know before it begins. */
export interface Opening {
  readonly redis: RedisSpec
  readonly work: Work
  /** What holds where the work says nothing, in milliseconds. */
  readonly otherwise: Pick<InForce, 'waitTimeout' | 'commandTimeout'>
  readonly seed: number
  /** The moment that all count from, in nanoseconds by the clock of the machine. */
  readonly origin: string
}

/** What a process says by itself. */
export interface Notes {
  readonly notes: Happening[]
}

/** What a process leaves behind: how often each event was heard, and what is still open once all is closed. */
export interface Rest {
  readonly events: Readonly<Record<string, number>>
  readonly warnings: readonly string[]
  /** The commands that Redis was sent when the cache had been closed. */
  readonly sentAfterwards: readonly string[]
  readonly resources: readonly string[]
}
