import { checked, life, oneOf, whole } from './checks.ts'
import type { Duration } from './duration.ts'

/** The near tier of a cache: copies of fresh values in the memory of each process, which are let go when they change. */
export interface NearOptions {
  /** Most copies; the least recently used goes first. Default 10 000. */
  readonly max?: number | undefined
  /** Most bytes, of payloads and keys as they are in the store. Default 67108864 (64 MiB). */
  readonly maxSize?: number | undefined
  /** How long a copy is served at most before the store is asked again. Default `'10s'`. */
  readonly ttl?: Duration | undefined
  /**
   * What callers are given, so that none can spoil it for the next: the same value, `'frozen'` (default; what cannot be frozen
   * is cloned); one of their own, `'cloned'`, which costs decoding it; or the same, `'shared'`, which nobody may change.
   */
  readonly values?: 'frozen' | 'cloned' | 'shared' | undefined
}

/** `NearOptions`, complete and checked, in milliseconds and bytes. */
export interface NearPlan {
  readonly max: number
  readonly maxSize: number
  readonly ttl: number
  readonly values: 'frozen' | 'cloned' | 'shared'
}

const defaults: NearPlan = { max: 10_000, maxSize: 67_108_864, ttl: 10_000, values: 'frozen' }

/** Throws TypeError for an option that there is not, or a value it cannot have. */
export function checkedNear(name: string, value: unknown): NearPlan {
  const given: Partial<NearPlan> = checked(`\`${name}\``, value as object, {
    max: whole(1, 16_777_216),
    maxSize: whole(1),
    ttl: life(1),
    values: oneOf('frozen', 'cloned', 'shared'),
  })
  return { ...defaults, ...given }
}
