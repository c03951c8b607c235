import type { Failure } from '../../src/core/errors.ts'
import type { Claim, ClaimRequest, Entry, Lease, NewValue, Store } from '../../src/core/store.ts'

/** The methods of a store that are commands. */
export type Command = 'read' | 'claim' | 'fill' | 'fail' | 'pass' | 'release' | 'renew' | 'set' | 'invalidate' | 'ping'

interface Gate {
  readonly command: Command
  readonly where: 'before' | 'after'
  readonly opened: Promise<void>
}

/** Another store, and on its way there and back whatever may happen to a command. */
export class UnreliableStore implements Store {
  /** `silent`: nothing arrives until `answering` again. `failing`: everything is refused. */
  mode: 'answering' | 'silent' | 'failing' = 'answering'
  /** Whether the messages about outcomes and lost leases come through. */
  messages: 'delivered' | 'lost' | 'never promised' = 'delivered'
  /** The commands that were sent, in order. */
  readonly sent: Command[] = []
  sharded = false
  opened = 0
  closed = 0

  readonly #store: Store
  readonly #gates = new Set<Gate>()
  #kept: (() => void)[] = []
  #messagesGo: Promise<void> = Promise.resolve()

  constructor(store: Store) {
    this.#store = store
  }

  /** Keeps each command of this name back, before it takes effect or after; returns what lets them all go on. */
  hold(command: Command, where: 'before' | 'after'): () => void {
    let open!: () => void
    const gate: Gate = { command, where, opened: new Promise((resolve) => (open = resolve)) }
    this.#gates.add(gate)
    return () => {
      this.#gates.delete(gate)
      open()
    }
  }

  /** Keeps the messages about outcomes and lost leases back that come from now on; returns what lets them all go on. */
  holdMessages(): () => void {
    let open!: () => void
    this.#messagesGo = new Promise((resolve) => (open = resolve))
    return open
  }

  /** Answers again, what was sent in its silence included. */
  thaw(): void {
    this.mode = 'answering'
    const kept = this.#kept
    this.#kept = []
    for (const go of kept) go()
  }

  count(command: Command): number {
    return this.sent.filter((sent) => sent === command).length
  }

  read(key: string): Promise<Entry | null> {
    return this.#send('read', () => this.#store.read(key))
  }

  async claim(request: ClaimRequest): Promise<Claim> {
    const claim = await this.#send('claim', () => this.#store.claim(request))
    if (this.messages === 'delivered') return this.#late(claim)
    const never = new Promise<never>(() => undefined)
    if (claim.state === 'wait') return { ...claim, outcome: never, pushed: this.messages === 'lost' }
    if (claim.state === 'lease') return { ...claim, lease: { ...claim.lease, lost: never } }
    return claim
  }

  fill(lease: Lease, value: NewValue): Promise<boolean> {
    return this.#send('fill', () => this.#store.fill(lease, value))
  }

  fail(lease: Lease, failure: Failure, cooldown: number): Promise<boolean> {
    return this.#send('fail', () => this.#store.fail(lease, failure, cooldown))
  }

  pass(lease: Lease, duration: number): Promise<boolean> {
    return this.#send('pass', () => this.#store.pass(lease, duration))
  }

  release(lease: Lease): Promise<boolean> {
    return this.#send('release', () => this.#store.release(lease))
  }

  renew(leases: readonly Lease[]): Promise<boolean>[] {
    const answers = this.#send('renew', () => Promise.all(this.#store.renew(leases)))
    return leases.map((_, index) => answers.then((ours) => ours[index] === true))
  }

  set(key: string, token: string, value: NewValue, within: number): Promise<void> {
    return this.#send('set', () => this.#store.set(key, token, value, within))
  }

  invalidate(key: string): Promise<void> {
    return this.#send('invalidate', () => this.#store.invalidate(key))
  }

  ping(): Promise<void> {
    return this.#send('ping', () => this.#store.ping())
  }

  open(): void {
    this.opened++
    this.#store.open()
  }

  close(): Promise<void> {
    this.closed++
    return this.#store.close()
  }

  #late(claim: Claim): Claim {
    const late = async <T>(message: Promise<T>): Promise<T> => {
      const said = await message
      await this.#messagesGo
      return said
    }
    if (claim.state === 'wait') return { ...claim, outcome: late(claim.outcome) }
    if (claim.state === 'lease') return { ...claim, lease: { ...claim.lease, lost: late(claim.lease.lost) } }
    return claim
  }

  async #send<T>(command: Command, run: () => Promise<T>): Promise<T> {
    this.sent.push(command)
    if (this.mode === 'failing') throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    if (this.mode === 'silent') await new Promise<void>((resolve) => this.#kept.push(resolve))
    await this.#pass(command, 'before')
    const answer = await run()
    await this.#pass(command, 'after')
    return answer
  }

  async #pass(command: Command, where: Gate['where']): Promise<void> {
    for (const gate of this.#gates) if (gate.command === command && gate.where === where) await gate.opened
  }
}
