import type pg from 'pg'
import { collectChanges, type Cache, type LoadContext } from '../../src/index.ts'
import { Random } from '../../src/testing/virtual-fleet/random.ts'

/** When a writer invalidates: where it says so, in the middle of its transaction; or after the commit. */
export type Moment = 'at once' | 'after the commit'

/** One step of the writer, of a reader in one of two processes, or of the load that is under way. */
type Step =
  | 'begin'
  | 'update'
  | 'change'
  | 'commit'
  | 'rollback'
  | 'apply'
  | 'discard'
  | 'ask 0'
  | 'ask 1'
  | 'select'
  | 'return'

/** A made-up history of one row, always the same for the same seed. */
interface Schedule {
  readonly seed: number
  readonly steps: readonly Step[]
  readonly by: 'key' | 'tag'
  /** The process of the writer. */
  readonly writer: 0 | 1
}

/** What went wrong in a schedule: an old row was left in the cache, or given to a caller that asked after its end. */
export interface Judgement {
  readonly seed: number
  readonly cachedOld: boolean
  readonly toldOld: boolean
  readonly steps: string
}

/** The database, and the caches of two processes on one Redis. */
export interface Surroundings {
  readonly pool: pg.Pool
  readonly caches: readonly [Cache, Cache]
}

export async function createTable(pool: pg.Pool): Promise<void> {
  await pool.query('CREATE TABLE price (id int PRIMARY KEY, version int NOT NULL)')
}

function scheduleOf(seed: number): Schedule {
  const random = new Random(seed, 'commit')
  const writes = Array.from({ length: random.between(1, 2) }, () => {
    const changed: Step[] = random.percent(50) ? ['update', 'change'] : ['change', 'update']
    const ended: Step[] = random.percent(75) ? ['commit', 'apply'] : ['rollback', 'discard']
    return ['begin', ...changed, ...ended] as Step[]
  }).flat()
  const reads = Array.from({ length: random.between(5, 14) }, () =>
    random.pick<Step>('ask 0', 'ask 1', 'select', 'select', 'return', 'return'),
  )
  const steps: Step[] = []
  while (writes.length + reads.length > 0) {
    const isWrite = random.next() * (writes.length + reads.length) < writes.length
    steps.push((isWrite ? writes : reads).shift() as Step)
  }
  return { seed, steps, by: random.pick('key', 'tag'), writer: random.pick(0, 1) }
}

/** Plays the schedule of a seed, lets all loads end, and judges what is cached then. */
export async function play(seed: number, moment: Moment, surroundings: Surroundings): Promise<Judgement> {
  const schedule = scheduleOf(seed)
  const game = new Game(schedule, moment, surroundings)
  try {
    return await game.play()
  } catch (cause) {
    throw new Error(`seed ${seed}, ${moment}: ${schedule.steps.join(', ')}`, { cause })
  }
}

/** A load, which the schedule holds up before its query and after it. */
interface HeldLoad {
  at: 'select' | 'query' | 'return'
  goOn: () => void
}

/** A schedule that is being played. It goes on when nothing moves any more, so that nothing is left to chance. */
class Game {
  readonly #schedule: Schedule
  readonly #moment: Moment
  readonly #pool: pg.Pool
  readonly #caches: readonly [Cache, Cache]
  readonly #key: string
  readonly #loads = new Set<HeldLoad>()
  /** How many callers of each process are yet to be answered, and whether one of them waits for the other process. */
  readonly #asked: [number, number] = [0, 0]
  readonly #waits: [boolean, boolean] = [false, false]
  #moved: () => void = () => undefined
  #version = 1
  /** The version that every caller knows of: its commit is over, and so is the invalidation. */
  #known = 1
  #committed = 1
  #changes = collectChanges()
  #client: pg.PoolClient | null = null
  #toldOld = false
  #problem: unknown

  constructor(schedule: Schedule, moment: Moment, { pool, caches }: Surroundings) {
    this.#schedule = schedule
    this.#moment = moment
    this.#pool = pool
    this.#caches = caches
    this.#key = `price:${moment}:${schedule.seed}`
  }

  async play(): Promise<Judgement> {
    const { seed, steps } = this.#schedule
    await this.#pool.query('INSERT INTO price VALUES ($1, 1) ON CONFLICT (id) DO UPDATE SET version = 1', [this.#id])
    for (const cache of this.#caches) await cache.invalidate(this.#key)
    const listening = this.#caches.map((cache, index) =>
      cache.on('wait', ({ key }) => {
        if (key === this.#key) this.#move(() => (this.#waits[index] = true))
      }),
    )
    try {
      for (const step of steps) await this.#take(step)
      while (this.#loads.size > 0) await this.#advance()
      const cachedOld = await this.#hasOld()
      return { seed, cachedOld, toldOld: this.#toldOld, steps: steps.join(', ') }
    } finally {
      for (const stop of listening) stop()
      this.#client?.release(true)
    }
  }

  get #id(): number {
    return this.#schedule.seed
  }

  async #take(step: Step): Promise<void> {
    switch (step) {
      case 'begin':
        this.#client = await this.#pool.connect()
        this.#changes = collectChanges()
        await this.#client.query('BEGIN')
        return
      case 'update':
        await this.#client?.query('UPDATE price SET version = $2 WHERE id = $1', [this.#id, ++this.#version])
        return
      case 'change':
        return await this.#change()
      case 'commit':
      case 'rollback':
        await this.#client?.query(step)
        this.#client?.release()
        this.#client = null
        if (step === 'commit') this.#committed = this.#version
        return
      case 'apply':
        if (this.#moment === 'after the commit') await this.#invalidating(this.#changes.apply())
        this.#known = this.#committed
        return
      case 'discard':
        return this.#changes.discard()
      case 'ask 0':
        return await this.#ask(0)
      case 'ask 1':
        return await this.#ask(1)
      case 'select':
      case 'return':
        return await this.#advance(step)
    }
  }

  async #change(): Promise<void> {
    const { by, writer } = this.#schedule
    const cache = this.#caches[writer]
    if (this.#moment === 'at once') {
      return await this.#invalidating(by === 'key' ? cache.invalidate(this.#key) : cache.invalidateTags([this.#key]))
    }
    if (by === 'key') this.#changes.invalidate(cache, this.#key)
    else this.#changes.invalidateTags(cache, [this.#key])
  }

  /** Waits for an invalidation, and until the load that it voids has stopped. A tag does not stop loads. */
  async #invalidating(invalidation: Promise<void>): Promise<void> {
    const before = [...this.#loads]
    await invalidation
    if (this.#schedule.by === 'key') await this.#until(() => before.every((load) => !this.#loads.has(load)))
    await this.#quiet()
  }

  async #ask(process: 0 | 1): Promise<void> {
    const known = this.#known
    const isFirst = this.#asked[process] === 0
    if (isFirst) this.#waits[process] = false
    this.#asked[process]++
    let answered = false
    const own = this.#loads.size
    this.#caches[process]
      .getOrLoad(this.#key, this.#load, this.#schedule.by === 'tag' ? { tags: [this.#key] } : {})
      .then(
        (version) => (this.#toldOld ||= version < known),
        (error: unknown) => (this.#problem = error),
      )
      .finally(() =>
        this.#move(() => {
          this.#asked[process]--
          answered = true
        }),
      )
    if (isFirst) await this.#until(() => answered || this.#waits[process] || this.#loads.size > own)
    await this.#quiet()
  }

  readonly #load = async ({ signal }: LoadContext): Promise<number> => {
    const load: HeldLoad = { at: 'select', goOn: () => undefined }
    const held = (at: HeldLoad['at']): Promise<void> => {
      return new Promise((resolve, reject) => {
        signal.throwIfAborted()
        signal.addEventListener('abort', () => reject(signal.reason), { once: true })
        this.#move(() => Object.assign(load, { at, goOn: resolve }))
      })
    }
    this.#loads.add(load)
    try {
      await held('select')
      const { rows } = await this.#pool.query<{ version: number }>('SELECT version FROM price WHERE id = $1', [
        this.#id,
      ])
      await held('return')
      return rows[0]?.version ?? Number.NaN
    } finally {
      this.#move(() => this.#loads.delete(load))
    }
  }

  /** Lets the load under way take its next step, if that is the one. */
  async #advance(step?: 'select' | 'return'): Promise<void> {
    const load = [...this.#loads].find(({ at }) => step === undefined || at === step)
    if (load === undefined) return
    const { at, goOn } = load
    load.at = 'query'
    goOn()
    await this.#until(() => !this.#loads.has(load) || (at === 'select' && load.at === 'return'))
    await this.#quiet()
  }

  /** Waits until each caller is answered, or waits for a load that is held up. */
  async #quiet(): Promise<void> {
    await this.#until(() => this.#asked[0] + this.#asked[1] === 0 || [...this.#loads].some(({ at }) => at !== 'query'))
  }

  #move(change: () => unknown): void {
    change()
    this.#moved()
  }

  /** @throws what a call was rejected with, and when nothing moves any more */
  async #until(condition: () => boolean): Promise<void> {
    const late = setTimeout(() => this.#move(() => (this.#problem = new Error(`Waited in vain: ${condition}`))), 20_000)
    try {
      for (;;) {
        if (this.#problem !== undefined) throw this.#problem
        if (condition()) return
        await new Promise<void>((resolve) => (this.#moved = resolve))
      }
    } finally {
      clearTimeout(late)
    }
  }

  /** Whether a caller of either process is given anything but the row, without a load. */
  async #hasOld(): Promise<boolean> {
    const { rows } = await this.#pool.query<{ version: number }>('SELECT version FROM price WHERE id = $1', [this.#id])
    const nothing = ({ doNotStore }: LoadContext): null => {
      doNotStore()
      return null
    }
    const told = await Promise.all(this.#caches.map((cache) => cache.getOrLoad<unknown>(this.#key, nothing)))
    return told.some((version) => version !== null && version !== rows[0]?.version)
  }
}
