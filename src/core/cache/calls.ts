import { currentLoad } from '../load/circular-load.ts'
import { closedError } from '../errors.ts'
import type { CallRequest } from '../load/loader.ts'
import type { Tracing } from '../observe/tracing.ts'
import { Call, type CallHost, type CallParts } from './call.ts'
import type { CallPast, CallStart } from './pending-answer.ts'

const noPast: CallPast = { missed: false, awaited: null }

/** The calls of one cache that have no answer yet. */
export class Calls implements CallHost {
  readonly #parts: CallParts & { readonly tracing: Tracing }
  /** The calls beyond their first read. */
  readonly #open = new Set<Call>()
  /** How many calls are at their first read. */
  #reading = 0
  #closed = false
  #whenOver: () => void = () => undefined
  /** The newest call of each key that others may follow. */
  readonly #leaders = new Map<string, Call>()

  constructor(parts: CallParts & { readonly tracing: Tracing }) {
    this.#parts = parts
  }

  /**
   * Answers a caller, with a call of its own or with the answer of one that it may follow.
   * @param from where its own call would begin
   */
  ask(request: CallRequest, from: CallStart = 'unread', past: CallPast = noPast): Promise<unknown> {
    const { reads, tracing } = this.#parts
    const { key, signal, refresh } = request
    const parent = currentLoad()
    // A call can only follow another for as long as it has no wish of its own. With a tracer, each has its own trace.
    const isPlain = parent === null && signal === undefined && !refresh && !tracing.isFollowed
    if (isPlain && from !== 'pass' && from !== 'no lease') {
      const leader = reads.leaderOf(key) ?? this.#leaders.get(key)
      if (leader?.admits(request)) return leader.follow(request, past)
    }
    return new Call(this.#parts, this, request, parent).start(from, past)
  }

  readingBegan(): void {
    this.#reading++
  }

  readingEnded(): boolean {
    this.#reading--
    this.#tellIfNone()
    return !this.#closed
  }

  opened(call: Call): void {
    this.#open.add(call)
    if (call.leads) this.#leaders.set(call.key, call)
  }

  ended(call: Call): void {
    this.#open.delete(call)
    if (this.#leaders.get(call.key) === call) this.#leaders.delete(call.key)
    this.#tellIfNone()
  }

  /** Whether no call is under way. */
  get areOver(): boolean {
    return this.#reading === 0 && this.#open.size === 0
  }

  /** How many callers wait for an answer for a key. */
  countOf(key: string): number {
    let callers = 0
    for (const call of this.#open) if (call.key === key) callers += call.callers
    return callers
  }

  /** Resolves when no call is under way. */
  async settled(): Promise<void> {
    if (!this.areOver) await new Promise<void>((resolve) => (this.#whenOver = resolve))
  }

  /** Rejects all callers with CLOSED. */
  giveUp(): void {
    this.#closed = true
    for (const call of this.#open) call.giveUp(closedError(call.key))
  }

  #tellIfNone(): void {
    if (this.areOver) this.#whenOver()
  }
}
