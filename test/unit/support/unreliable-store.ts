import type { Outcome, Store, StoreUser } from '../../../src/core/contract/store.ts'
import { FarStore, type FarCommand } from '../../../src/testing/virtual-fleet/far-store.ts'

interface Gate {
  readonly command: FarCommand
  readonly where: 'before' | 'after'
  readonly opened: Promise<void>
}

/** Another store, on whose way a test does what it likes. */
export class UnreliableStore extends FarStore {
  /** `silent`: nothing arrives until `answering` again. `failing`: everything is refused. */
  mode: 'answering' | 'silent' | 'failing' = 'answering'
  /** Whether the messages about outcomes and lost leases come through; `too large`: each without its value. */
  messages: 'delivered' | 'too large' | 'lost' | 'never promised' = 'delivered'
  /** The commands that were sent, in order. */
  readonly sent: FarCommand[] = []
  opened = 0
  closed = 0

  protected readonly store: Store
  readonly #gates = new Set<Gate>()
  #kept: (() => void)[] = []
  #messagesGo: Promise<void> = Promise.resolve()

  constructor(store: Store) {
    super()
    this.store = store
  }

  override get pushes(): boolean {
    return this.messages !== 'never promised'
  }

  /** Keeps each command of this name back, before it takes effect or after; returns what lets them all go on. */
  hold(command: FarCommand, where: 'before' | 'after'): () => void {
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

  count(command: FarCommand): number {
    return this.sent.filter((sent) => sent === command).length
  }

  override open(user?: StoreUser): void {
    this.opened++
    super.open(user)
  }

  override close(user?: StoreUser): Promise<void> {
    this.closed++
    return super.close(user)
  }

  protected async carry<T>(command: FarCommand, _key: string, run: () => Promise<T>): Promise<T> {
    this.sent.push(command)
    if (this.mode === 'failing') throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    if (this.mode === 'silent') await new Promise<void>((resolve) => this.#kept.push(resolve))
    await this.#pass(command, 'before')
    const answer = await run()
    await this.#pass(command, 'after')
    return answer
  }

  protected async message<T>(message: Promise<T>): Promise<T> {
    if (this.messages === 'lost' || this.messages === 'never promised') return new Promise(() => undefined)
    const said = await message
    await this.#messagesGo
    return this.messages === 'too large' ? withoutValue(said) : said
  }

  async #pass(command: FarCommand, where: Gate['where']): Promise<void> {
    for (const gate of this.#gates) if (gate.command === command && gate.where === where) await gate.opened
  }
}

/** A message about an outcome, as Redis sends it when the value is too large for it. */
export function withoutValue<T>(message: T): T {
  const outcome = message as Outcome | undefined
  return outcome?.state === 'filled' ? ({ state: 'read' } as T) : message
}
