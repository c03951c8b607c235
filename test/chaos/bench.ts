import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Happening } from '../support/history.ts'
import type { Allowances } from '../support/invariants.ts'
import type { Judgement } from './segments.ts'

/** What the judging thread is told: what has happened, or to judge it. */
export type ToBench =
  | { readonly happened: readonly Happening[] }
  | { readonly upTo: number; readonly allowed: Allowances }

/**
 * Judges a history without end in a thread of its own: the proxies between the fleet and its servers are in this one, and
 * must not stand still meanwhile.
 */
export class Bench {
  readonly #thread: Worker = new Worker(new URL('bench-thread.mjs', import.meta.url))
  #waiting: Happening[] = []

  add(happening: Happening): void {
    this.#waiting.push(happening)
    if (this.#waiting.length >= 1_000) this.#send()
  }

  /** Judges what has happened up to a moment. */
  async judge(upTo: number, allowed: Allowances): Promise<Judgement> {
    this.#send()
    const judged = once(this.#thread, 'message') as Promise<[Judgement]>
    this.#tell({ upTo, allowed })
    return (await judged)[0]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread.terminate()
  }

  #send(): void {
    this.#tell({ happened: this.#waiting })
    this.#waiting = []
  }

  #tell(what: ToBench): void {
    this.#thread.postMessage(what)
  }
}
