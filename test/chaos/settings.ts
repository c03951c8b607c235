import { planOf } from '../../src/core/options/plan.ts'
import type { InForce, Work } from './work.ts'

/**
 * How a fleet is set. `quick`: short leases and deadlines, so that what they end is seen to end, and writes all the time.
 * `defaults`: the library as it is when nobody says anything, and nothing else that heals: a lease that is left behind
 * blocks its key for ten seconds, and no invalidation frees it.
 */
export type Settings = 'quick' | 'defaults'

export const allSettings: readonly Settings[] = ['quick', 'defaults']

/** Those that a word of the command line stands for. */
export function settingsIn(word: string): readonly Settings[] {
  if (word === 'both') return allSettings
  const one = allSettings.filter((each) => each === word)
  if (one.length === 0) throw new TypeError(`Expected --settings to be quick, defaults or both, got ${word}`)
  return one
}

/** The library whose clients the fleets of this process have. */
export function client(): 'ioredis' | 'node-redis' {
  return process.env['REDIS_CLIENT'] === 'node-redis' ? 'node-redis' : 'ioredis'
}

/** Lets the fleets of this process have the clients of a library. */
export function useClient(word: string): void {
  if (word !== 'ioredis' && word !== 'node-redis')
    throw new TypeError(`Expected --client to be ioredis or node-redis, got ${word}`)
  process.env['REDIS_CLIENT'] = word
}

/** Short lives, so that loads happen all the time. */
const traffic = {
  rate: 100,
  hotKeys: 6,
  coldKeys: 40,
  cold: 0.15,
  huge: 0,
  together: 1,
  ttl: [100, 600],
  loadTime: [0, 100],
  graces: [0, 0, 300, 1_000],
  softTimeouts: [0, 0, 30],
  slow: 0.03,
  slowTime: 1_000,
  nested: 0.03,
  large: 0.1,
  source: { throws: 0.02, 'throws at once': 0.01 },
  privateKeys: 0,
  wakeUp: 'push',
  nearTtl: 0,
  tagInvalidations: 0,
  tags: 0,
  limit: 0,
  halves: 0,
} as const

/** What every scenario begins with. */
export const usualWork: Readonly<Record<Settings, Work>> = {
  quick: {
    ...traffic,
    invalidations: 0.015,
    sets: 0.005,
    waitTimeouts: [5_000, 5_000, 8_000],
    leaseTtl: 600,
    failureCooldown: 100,
    hardTimeout: 4_000,
    commandTimeout: 700,
  },
  defaults: {
    ...traffic,
    invalidations: 0,
    sets: 0,
    waitTimeouts: [],
    leaseTtl: undefined,
    failureCooldown: undefined,
    hardTimeout: undefined,
    commandTimeout: undefined,
  },
}

/** What holds for a fleet that works so, by its own word or by default. */
export function inForce({ leaseTtl, failureCooldown, hardTimeout, commandTimeout }: Partial<Work>): InForce {
  return planOf({ leaseTtl, failureCooldown, hardTimeout, commandTimeout })
}

/** More keys than callers can keep loaded: at any moment many loads are under way, and end. */
export const manyLoads: Partial<Work> = { hotKeys: 40, ttl: [100, 400], loadTime: [50, 300] }

/** Whether anything is written besides what is loaded. */
export function writes({ invalidations, sets, tagInvalidations }: Work): boolean {
  return invalidations + sets + tagInvalidations > 0
}
