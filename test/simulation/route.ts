import type { Clock } from '../../src/core/clock.ts'
import type { Claim, ClaimRequest, Entry, Lease, NewValue, Outcome, Store } from '../../src/core/store.ts'
import { FarStore, type Command } from '../support/far-store.ts'
import type { Process } from './process.ts'
import type { Random } from './random.ts'
import type { Network } from './schedule.ts'
import type { Server } from './server.ts'

/** What becomes of a command on its way. */
type Fate = 'arrives' | 'lost there' | 'lost back' | 'cut there' | 'cut back' | 'sent twice'

type Lane = 'there' | 'back' | 'message'

/** What a route tells of what goes on on it. */
export type Teller = (process: number, what: string) => void

/** How often what happened on the routes of a fleet. */
export type Counts = Record<Exclude<Fate, 'arrives'> | 'lost message' | 'too late' | 'commands', number>

/** That a lease is held, as a process was told; the moments are milliseconds. */
export interface Confirmation {
  readonly fence: string
  readonly sentAt: number
  readonly at: number
}

/** The way of one process to the store, with its delays and losses. */
export class Route extends FarStore {
  /** When the process was told that it has a lease, and when it had sent the claim or the renewal that this answered. */
  readonly confirmed: Confirmation[] = []
  /** When it sent what, in milliseconds. */
  readonly sent: { readonly at: number; readonly command: Command }[] = []
  /** Waits that the process has been told of and has not left. */
  waiting = 0
  /** Whether nothing is lost any more. */
  healed = false
  readonly #process: Process
  readonly #server: Server
  readonly #network: Network
  readonly #random: Random
  readonly #world: Clock
  readonly #tell: Teller
  readonly #counts: Counts
  readonly #blocks = new Map<symbol, 'drop' | 'stall'>()
  readonly #stalled: (() => void)[] = []
  readonly #latest: Record<Lane, number> = { there: 0, back: 0, message: 0 }
  #commands = 0

  constructor(
    process: Process,
    surroundings: { server: Server; network: Network; random: Random; world: Clock; tell: Teller; counts: Counts },
  ) {
    super()
    this.#process = process
    this.#server = surroundings.server
    this.#network = surroundings.network
    this.#random = surroundings.random
    this.#world = surroundings.world
    this.#tell = surroundings.tell
    this.#counts = surroundings.counts
  }

  protected get store(): Store {
    return this.#server.store
  }

  override get pushes(): boolean {
    return this.#network.pushed
  }

  /** Lets nothing through until what it returns is called; then what has been stalled goes on. */
  block(how: 'drop' | 'stall'): () => void {
    const block = Symbol(how)
    this.#blocks.set(block, how)
    return () => {
      this.#blocks.delete(block)
      if (this.#blocks.size === 0) for (const go of this.#stalled.splice(0)) go()
    }
  }

  override async claim(request: ClaimRequest): Promise<Claim> {
    const sentAt = this.#world.now()
    const claim = await super.claim(request)
    if (claim.state === 'lease') this.#confirm(claim.lease, sentAt)
    if (claim.state !== 'wait') return claim
    this.waiting++
    const leave = (): void => {
      this.waiting--
      claim.leave()
    }
    return { ...claim, leave }
  }

  override renew(leases: readonly Lease[]): Promise<boolean>[] {
    const sentAt = this.#world.now()
    return super.renew(leases).map(async (answer, index) => {
      const ours = await answer
      if (ours) this.#confirm(leases[index] as Lease, sentAt)
      return ours
    })
  }

  override set(key: string, token: string, value: NewValue, within = Infinity): Promise<void> {
    const sentAt = this.#world.now()
    return this.carry('set', key, async () => {
      // As redis/lua/overwrite.lua does. By the clock of the world: what a clock that is set meanwhile makes of it is
      // among the honest limits.
      if (this.#world.now() - sentAt <= within) return await this.store.set(key, token, value, within)
      this.#counts['too late']++
      await this.store.invalidate(key)
      throw new Error('The write arrived too late')
    })
  }

  protected carry<T>(command: Command, key: string, run: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const name = `${command}${key === '' ? '' : ` ${key.slice(key.indexOf(':') + 1)}`} #${++this.#commands}`
      const fate = this.#fate()
      const home = (settle: () => void): void =>
        this.#leg('back', `the answer to ${name}`, fate === 'lost back', () => this.#process.receive(settle))
      const broken = (): void => reject(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }))
      const arrive = (dropped: boolean): void => {
        if (this.#server.refusals > 0) return home(broken)
        const ranAt = this.#world.now()
        run().then(
          (answer) => {
            this.#say(`${name} runs: ${shown(answer)}`)
            if (dropped || fate === 'lost back' || fate === 'cut back') unanswered(answer)
            if (!dropped) home(fate === 'cut back' ? broken : () => resolve(aged(answer, this.#world.now() - ranAt)))
          },
          (error: unknown) => {
            this.#say(`${name} fails: ${String(error)}`)
            if (!dropped) home(() => reject(error))
          },
        )
      }
      this.#counts.commands++
      this.sent.push({ at: this.#world.now(), command })
      if (fate !== 'arrives') this.#counts[fate]++
      if (this.#server.refusals > 0) {
        this.#say(`${name} is refused`)
        return reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }))
      }
      this.#say(`→ ${name}${fate === 'arrives' ? '' : `, which is ${fate}`}`)
      this.#leg('there', name, fate === 'lost there', () => {
        if (fate === 'cut there') return home(broken)
        arrive(fate === 'sent twice')
        // The client sends it again on its next connection.
        if (fate === 'sent twice')
          this.#world.after(this.#random.between(0, this.#network.reconnect), () => arrive(false))
      })
    })
  }

  protected message<T>(said: Promise<T>, token: string): Promise<T> {
    return new Promise((resolve) => {
      if (!this.#network.pushed) return
      void said.then((message) => {
        if (this.#server.muted.has(token)) return
        const lost = this.#random.percent(this.#network.lostMessages)
        if (lost) this.#counts['lost message']++
        const read = this.#random.percent(this.#network.bulky)
        this.#leg('message', 'a message', lost, () =>
          this.#process.receive(() => resolve(read ? bulky(message) : message)),
        )
      })
    })
  }

  #confirm({ fence }: Lease, sentAt: number): void {
    this.confirmed.push({ fence: String(fence), sentAt, at: this.#world.now() })
  }

  #fate(): Fate {
    const { lost, cut, resent } = this.#network
    if (this.healed) return 'arrives'
    const drawn = this.#random.next() * 100
    const where = this.#random.pick('there' as const, 'back' as const)
    if (drawn < lost) return `lost ${where}`
    if (drawn < lost + cut) return `cut ${where}`
    return drawn < lost + cut + resent ? 'sent twice' : 'arrives'
  }

  #leg(lane: Lane, name: string, lost: boolean, go: () => void): void {
    const blocks = [...this.#blocks.values()]
    if (lost || blocks.includes('drop')) return this.#say(`${name} is lost`)
    if (blocks.length > 0) return void this.#stalled.push(() => this.#leg(lane, name, false, go))
    const { distance, ordered } = this.#network
    const now = this.#world.now()
    // Mostly as short as it gets, and now and then so long that everything else comes first.
    const ms = Math.round(this.#random.next() * distance * (this.#random.percent(15) ? 5 : 0.3))
    const at = ordered ? Math.max(this.#latest[lane], now + ms) : now + ms
    this.#latest[lane] = at
    if (at <= now) go()
    else this.#world.after(at - now, go)
  }

  #say(what: string): void {
    this.#tell(this.#process.number, what)
  }
}

/** Nobody will leave a wait that nobody was told of. */
function unanswered(answer: unknown): void {
  const claim = answer as Claim | null
  if (claim?.state === 'wait') claim.leave()
}

/** The same answer, some time after it was sent: what is left of a value's life is known when the answer arrives. */
function aged<T>(answer: T, ms: number): T {
  if (ms === 0 || typeof answer !== 'object' || answer === null) return answer
  const given = answer as Partial<Entry> & { entry?: Entry; stale?: Entry | null }
  if (given.freshFor !== undefined) return { ...answer, ...agedEntry(given as Entry, ms) }
  if (given.entry) return { ...answer, entry: agedEntry(given.entry, ms) }
  if (given.stale) return { ...answer, stale: agedEntry(given.stale, ms) }
  return answer
}

function agedEntry(entry: Entry, ms: number): Entry {
  return { ...entry, age: entry.age + ms, freshFor: entry.freshFor - ms, staleFor: entry.staleFor - ms }
}

/** As if the value were too large for the message. */
function bulky<T>(message: T): T {
  const outcome = message as Outcome | undefined
  return outcome?.state === 'filled' ? ({ state: 'read' } as T) : message
}

function shown(answer: unknown): string {
  if (typeof answer !== 'object' || answer === null) return answer === undefined ? 'done' : JSON.stringify(answer)
  if (Array.isArray(answer)) return answer.join(', ')
  if ('payload' in answer) return shownEntry(answer as Entry)
  const claim = answer as Claim
  if (claim.state === 'fresh') return `fresh ${shownEntry(claim.entry)}`
  return 'stale' in claim && claim.stale !== null ? `${claim.state}, stale ${shownEntry(claim.stale)}` : claim.state
}

function shownEntry({ payload, freshFor, staleFor }: Entry): string {
  const by = /"by":"([^"]+)"/.exec(payload.toString())?.[1]
  return `value of ${by} (fresh for ${freshFor} ms, stale for ${staleFor})`
}
