import type { CallOptions, CacheOptions, SetOptions } from '../../src/core/options/options.ts'
import { Random } from '../../src/testing/virtual-fleet/random.ts'

/** What a loader does. */
export interface LoaderPlan {
  /** How long it takes, in milliseconds. */
  readonly takes: number
  /** `throw`: before its first await. `unfit`: a value that cannot be stored. `hang`: it never ends. */
  readonly ends: 'value' | 'error' | 'throw' | 'pass' | 'unfit' | 'hang'
  /** What it says of its value's ttl. */
  readonly ttl?: number
  /** Whether it ends when its signal is aborted. */
  readonly heeds?: boolean
  /** Whether it is a leader: the load is in two halves, and one that hangs never calls. */
  readonly leads?: boolean
  /** What it asks the cache for meanwhile. */
  readonly nested?: { readonly key: string; readonly loader: LoaderPlan; readonly options: CallOptions }
}

/** What one of the processes does at some moment, in milliseconds from the start. */
export type Operation = { readonly at: number; readonly process: number } & (
  | {
      readonly what: 'ask'
      readonly key: string
      /** How many callers ask in the same tick. */
      readonly callers: number
      readonly loader: LoaderPlan
      readonly options: CallOptions
      /** After how many milliseconds the callers abort; `null` for never. */
      readonly leaves: number | null
    }
  /** When a write has resolved, every process asks, with this loader. */
  | {
      readonly what: 'invalidate'
      readonly key: string
      /** Whether it is the key that is invalidated, or the tag of its value. */
      readonly by: 'key' | 'tag'
      /** Whether the value is made stale, not void. */
      readonly soft: boolean
      readonly loader: LoaderPlan
    }
  | { readonly what: 'set'; readonly key: string; readonly options: SetOptions; readonly loader: LoaderPlan }
  | { readonly what: 'peek'; readonly key: string }
  | { readonly what: 'close'; readonly timeout: number }
)

/** Which process it is done to. `aimed`: to the one that is loading at that moment, if there is one. */
interface Target {
  readonly process: number
  readonly aimed: boolean
}

/** What is done to the surroundings, when, and for how long, in milliseconds. */
export type Fault = { readonly at: number; readonly lasts: number } &
  /** What is sent to it and from it is lost (`drop`), or arrives when all has healed (`stall`). */
  (
    | ({ readonly what: 'cut off'; readonly how: 'drop' | 'stall' } & Target)
    /** It runs nothing; when it goes on, it runs its overdue timers first, or reads what has arrived meanwhile. */
    | { readonly what: 'stopped'; readonly process: number; readonly first: 'timers' | 'answers' }
    | { readonly what: 'killed'; readonly process: number }
    /** No process reaches the store: all is silence, or every command is refused at once. */
    | { readonly what: 'store away'; readonly how: 'drop' | 'stall' | 'refuse' }
    /** It starts again, empty. */
    | { readonly what: 'store wiped' }
    /** It evicts the lease of a key. */
    | { readonly what: 'lease evicted'; readonly key: string }
    /** Its clock is set, by so many milliseconds. */
    | { readonly what: 'clock set'; readonly by: number }
  )

/** How the ways to the store are. */
export interface Network {
  /** Most of what is under way takes up to a third of this, in milliseconds; some takes five times as long. */
  readonly distance: number
  /** Whether what is sent later arrives later, as on one connection; else each takes its own time. */
  readonly ordered: boolean
  /** Whether outcomes are pushed to those who wait. */
  readonly pushed: boolean
  /** How many messages of a hundred say that there is a value without holding it. */
  readonly bulky: number
  /** How many messages of a hundred get lost. */
  readonly lostMessages: number
  /**
   * How many commands of a hundred get lost on their way, there or back (`lost`), are rejected because the connection
   * broke, before they were carried out or after (`cut`), or are carried out twice because it broke and the client sent
   * them again (`resent`), within so many milliseconds (`reconnect`); until all heals.
   */
  readonly lost: number
  readonly cut: number
  readonly resent: number
  readonly reconnect: number
}

/** The limits of the source that all loads use. */
export interface Limits {
  readonly concurrency?: number
  readonly rate?: { readonly loads: number; readonly per: number }
  readonly maxQueued: number
  readonly adaptive: boolean
}

/** Everything that is decided before a run begins. */
export interface Schedule {
  readonly seed: number
  readonly processes: number
  readonly keys: readonly string[]
  /** Of every cache. */
  readonly options: CacheOptions & {
    readonly commandTimeout: number
    readonly leaseTtl: number
    readonly softTimeout: number
    readonly hardTimeout: number
    readonly unstorable?: 'pass' | 'throw'
    readonly bridge?: number
  }
  /** How many values the store keeps. */
  readonly most: number
  readonly network: Network
  /** Whether each value has its key as a tag. */
  readonly tagged: boolean
  /** `null` if loads use no source. */
  readonly limits: Limits | null
  readonly operations: readonly Operation[]
  readonly faults: readonly Fault[]
}

/** The schedule of a seed. */
export function scheduleOf(seed: number): Schedule {
  const random = new Random(seed, 'schedule')
  const weather = random.pick('calm', 'calm', 'calm', 'stormy', 'stormy', 'stormy', 'stormy', 'stormy', 'frozen')
  const processes = random.between(3, 5)
  const keys = ['k', 'l', 'm'].slice(0, random.pick(1, 1, 2, 3))
  const length = random.pick(200, 400, 400, 1_200)
  const network = networkOf(random, weather === 'stormy')
  // What is left behind by a silence is seen when it takes long to go away by itself.
  const options = {
    ...optionsOf(random, network),
    ...(weather === 'frozen' ? { leaseTtl: 10_000 } : {}),
    // Drawn apart, so that all the rest of a seed is as it was before there was this option.
    unstorable: new Random(seed, 'unstorable').pick<'pass' | 'throw'>('pass', 'throw'),
    bridge: new Random(seed, 'bridge').pick(0, 50, 1_000),
  }
  const longest = Math.max(length / 2, Math.min(3 * options.leaseTtl, 1_000))
  // As that option.
  const tagged = new Random(seed, 'tags').percent(30)
  const scene = { processes, keys, length, longest, circles: random.percent(10), hangs: true, closes: true, tagged }
  // As that option.
  const some = someBegun(
    someSoft(operationsOf(random, scene, random.between(3, 60)), new Random(seed, 'soft')),
    new Random(seed, 'begin'),
  )
  // As that option.
  const apart = new Random(seed, 'source')
  const limits = apart.percent(25) ? limitsOf(apart) : null
  const crowd = limits === null ? [] : crowdOf(apart, scene)
  const operations = [...some, ...crowd].toSorted((one, other) => one.at - other.at)
  const silence: Fault = {
    at: random.between(0, length),
    lasts: random.pick(300, 800, 3_000),
    what: 'store away',
    how: 'stall',
  }
  const faults =
    weather === 'calm' ? [] : weather === 'frozen' ? [silence] : withoutMurder(faultsOf(random, scene), processes)
  return {
    seed,
    processes,
    keys: [...keys, ...crowdKeys(crowd)],
    options: limits === null ? options : { ...options, sources: { pg: limits }, source: 'pg' },
    limits,
    most: random.percent(8) ? random.between(1, 2) : 100,
    network,
    operations,
    faults,
    tagged,
  }
}

/** Where operations take place. */
export interface Scene {
  readonly processes: number
  readonly keys: readonly string[]
  /** Within how many milliseconds they begin. */
  readonly length: number
  /** How long a loader takes at most, hanging aside. */
  readonly longest: number
  /** Whether loaders may ask for what waits for them. */
  readonly circles: boolean
  /** Whether loaders may never end. */
  readonly hangs: boolean
  /** Whether a process may close. */
  readonly closes: boolean
  /** Whether it is tags that are invalidated. */
  readonly tagged: boolean
}

/** So many operations, in the order in which they begin. */
export function operationsOf(random: Random, scene: Scene, many: number): Operation[] {
  const operations = Array.from({ length: many }, () => operationOf(random, scene))
  return withoutDeserting(operations.toSorted((one, other) => one.at - other.at))
}

/** The same, with some of the invalidations soft. */
export function someSoft(operations: readonly Operation[], random: Random): Operation[] {
  return operations.map((operation) =>
    operation.what === 'invalidate' ? { ...operation, soft: random.percent(40) } : operation,
  )
}

/** The same, in half of all schedules with some of the loads in two halves: those that ask for nothing meanwhile. */
export function someBegun(operations: readonly Operation[], random: Random): Operation[] {
  const many = random.pick(0, 30, 100)
  return operations.map((operation) =>
    operation.what === 'ask' && operation.loader.nested === undefined && random.percent(many)
      ? { ...operation, loader: { ...operation.loader, leads: true } }
      : operation,
  )
}

function limitsOf(random: Random): Limits {
  const rate = { loads: random.pick(3, 10), per: random.pick(200, 1_000) }
  const kind = random.pick('places', 'places', 'places', 'places', 'rate', 'both')
  return {
    ...(kind === 'rate' ? {} : { concurrency: random.pick(1, 1, 2, 3, 5) }),
    ...(kind === 'places' ? {} : { rate }),
    maxQueued: random.pick(1_000, 1_000, 1_000, 1),
    adaptive: kind !== 'rate' && random.percent(15),
  }
}

/** Herds of many keys: at some moments processes ask for several keys that nobody else has asked for before. */
function crowdOf(random: Random, scene: Scene): Operation[] {
  const keys = 'abcdefgh'.slice(0, random.between(2, 8)).split('')
  const herd = (): Operation[] => {
    const at = random.between(0, scene.length)
    const longest = random.pick(20, 100, scene.longest)
    return Array.from({ length: random.pick(3, 10, 30) }, () => ({
      at,
      process: random.between(1, scene.processes),
      what: 'ask',
      key: random.pick(...keys),
      callers: 1,
      loader: {
        takes: random.between(0, longest),
        ends: random.pick<LoaderPlan['ends']>(...Array<'value'>(8).fill('value'), 'error', 'hang'),
        heeds: random.percent(50),
      },
      options: random.pick<CallOptions>(
        {},
        {},
        {},
        { grace: 60_000, softTimeout: 20 },
        { waitTimeout: random.between(1, 1_000) },
        { priority: 'low' },
      ),
      leaves: random.percent(10) ? random.between(0, scene.length / 2) : null,
    }))
  }
  return Array.from({ length: random.between(1, 3) }, herd).flat()
}

function crowdKeys(crowd: readonly Operation[]): string[] {
  return [...new Set(crowd.flatMap((operation) => ('key' in operation ? [operation.key] : [])))].toSorted()
}

function networkOf(random: Random, stormy: boolean): Network {
  const troubled = stormy && random.percent(35)
  const [lost, cut] = troubled ? [random.pick(0, 1, 5, 30), random.pick(0, 1, 5, 30)] : [0, 0]
  return {
    distance: random.pick(0, 3, 10, 10),
    ordered: random.percent(50),
    pushed: random.percent(85),
    bulky: random.pick(0, 0, 50),
    lostMessages: random.pick(0, 0, 0, 30, 100),
    lost,
    cut,
    resent: random.percent(25) ? random.pick(5, 30, 100) : 0,
    // So soon that it costs no more than a slow answer, unless commands get lost anyway.
    reconnect: lost + cut > 0 ? 300 : 40,
  }
}

function optionsOf(random: Random, { distance, resent }: Network): Schedule['options'] {
  return {
    ttl: random.pick(1, 100, 60_000),
    grace: random.pick(0, 0, 300, 60_000),
    // Renewals must be able to be in time.
    leaseTtl: random.pick(distance > 3 || resent > 0 ? 300 : 120, 400, 10_000),
    failureCooldown: random.pick(0, 100, 1_000),
    softTimeout: random.pick(0, 0, 50, 500),
    hardTimeout: random.pick(200, 400, 2_000),
    waitTimeout: 31_000,
    commandTimeout: random.pick(150, 150, 500),
    maxConcurrentLoads: random.pick(1, 2, 64),
    maxQueuedLoads: random.pick(0, 1, 1_000),
    onStoreFailure: random.pick<'load' | 'throw'>('load', 'load', 'throw'),
    onInvalidateFailure: random.pick<'throw' | 'replay'>('throw', 'replay'),
  }
}

function operationOf(random: Random, scene: Scene): Operation {
  const { processes, keys, length } = scene
  const at = random.between(0, length)
  const process = random.between(1, processes)
  const key = random.percent(65) ? (keys[0] as string) : random.pick(...keys)
  const loader = { takes: takes(random, scene), ends: 'value' as const }
  switch (
    random.pick<'ask' | 'write' | 'peek' | 'close'>(
      ...Array<'ask'>(8).fill('ask'),
      ...Array<'write'>(4).fill('write'),
      'peek',
      'close',
    )
  ) {
    case 'ask':
      return {
        at,
        process,
        what: 'ask',
        key,
        callers: random.pick(1, 1, 1, 2, 3),
        loader: loaderOf(random, scene, key, 2),
        options: random.pick<CallOptions>(
          {},
          {},
          {},
          { grace: 0 },
          { grace: 60_000, softTimeout: 20 },
          { ttl: 1 },
          { waitTimeout: random.between(1, 1_000) },
          { failureCooldown: 0 },
        ),
        leaves: random.percent(10) ? random.between(0, length / 2) : null,
      }
    case 'write': {
      const options = random.pick<SetOptions>({}, {}, { ttl: 30, grace: 60_000 })
      return random.percent(70)
        ? { at, process, what: 'invalidate', key, by: scene.tagged ? 'tag' : 'key', soft: false, loader }
        : { at, process, what: 'set', key, options, loader }
    }
    case 'close':
      if (scene.closes && random.percent(40)) return { at, process, what: 'close', timeout: random.pick(0, 50, 5_000) }
      return { at, process, what: 'peek', key }
    case 'peek':
      return { at, process, what: 'peek', key }
  }
}

function loaderOf(random: Random, scene: Scene, key: string, depth: number): LoaderPlan {
  const { keys, circles } = scene
  const plan = {
    takes: takes(random, scene),
    ends: random.pick<LoaderPlan['ends']>(
      ...Array<'value'>(13).fill('value'),
      ...Array<'error'>(5).fill('error'),
      'throw',
      'pass',
      'pass',
      'unfit',
      scene.hangs ? 'hang' : 'error',
    ),
    heeds: random.percent(50),
    ...(random.percent(10) ? { ttl: random.pick(1, 50, 60_000) } : {}),
  }
  const others = circles ? keys : keys.filter((other) => other > key)
  if (depth === 0 || others.length === 0 || !random.percent(circles ? 60 : 12)) return plan
  const nested = random.pick(...others)
  const options = random.pick<CallOptions>({}, { waitTimeout: 200 })
  const loader = loaderOf(random, scene, nested, depth - 1)
  // A circle that nobody notices must cost time, or it never ends.
  return { ...plan, takes: plan.takes + 1, nested: { key: nested, loader, options } }
}

function takes(random: Random, { length, longest }: Scene): number {
  return random.pick(0, random.between(0, length / 8), random.between(0, longest))
}

function faultsOf(random: Random, { processes, keys, length }: Scene): Fault[] {
  return Array.from({ length: random.pick(0, 1, 1, 2, 3, 5) }, () => {
    const at = random.between(0, length)
    const lasts = random.pick(10, 100, 300, 800, 3_000)
    const target = { process: random.between(1, processes), aimed: random.percent(60) }
    switch (random.between(1, 11)) {
      case 1:
      case 2:
        return { at, lasts, what: 'cut off', ...target, how: random.pick<'drop' | 'stall'>('drop', 'stall', 'stall') }
      case 3:
      case 4:
        return { at, lasts, what: 'stopped', ...target, first: random.pick<'timers' | 'answers'>('timers', 'answers') }
      case 5:
        return { at, lasts: 0, what: 'killed', ...target }
      case 6:
        return { at, lasts: 0, what: 'store wiped' }
      case 7:
        return { at, lasts: 0, what: 'lease evicted', key: keys[0] as string }
      case 8:
        return { at, lasts: 0, what: 'clock set', by: random.pick(-60_000, -200, 200, 500, 60_000) }
      default: {
        const how = random.pick<'drop' | 'stall' | 'refuse'>('drop', 'stall', 'stall', 'refuse')
        return { at, lasts, what: 'store away', how }
      }
    }
  })
}

/** One closes at most, so that there is a fleet to the end. */
function withoutDeserting(operations: readonly Operation[]): Operation[] {
  const first = operations.find(({ what }) => what === 'close')
  return operations.filter((operation) => operation.what !== 'close' || operation === first)
}

/** Two live on, whoever closes. */
function withoutMurder(faults: readonly Fault[], processes: number): Fault[] {
  let killed = 0
  return faults.filter(({ what }) => what !== 'killed' || ++killed <= processes - 3)
}
