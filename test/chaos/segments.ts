import { History, passLasts, type Happening } from '../support/history.ts'
import { violations, type Allowances } from '../support/invariants.ts'
import { figuresOf, type Figures } from './figures.ts'

/**
 * For how long calls may have to do with what happens next, in milliseconds: nobody waits longer. Loads and writes are
 * remembered for longer than any value that those calls may have been given has lived.
 */
const memoryOfCalls = 10_000
const memoryOfLoads = 20_000

/** For how long a fault that is over explains what is remembered: beyond the loads, by the time until all is normal again. */
export const memoryOfFaults = 30_000

/** The figures of a piece of history, and what is wrong with it that was not said before. */
export interface Judgement {
  readonly figures: Figures
  readonly wrong: readonly string[]
}

/** A history without end, judged piece by piece: what is over and can have no consequences is forgotten. */
export class Segments {
  #kept: Happening[] = []
  #judgedUpTo = -Infinity
  readonly #wrong = new Set<string>()

  add(happenings: readonly Happening[]): void {
    for (const happening of happenings) this.#kept.push(happening)
  }

  /** How many happenings are remembered. */
  get size(): number {
    return this.#kept.length
  }

  /** Judges what has happened up to a moment. */
  judge(upTo: number, allowed: Allowances): Judgement {
    const open = openAt(this.#kept, upTo)
    const { late = 1_000 } = allowed
    // Whoever still waits, and may, is judged when the answer is there.
    const mayWait = new Set<Happening>(
      this.#kept.flatMap((each) =>
        each.what === 'call' && open.has(each) && each.at + each.within + late > upTo ? [each] : [],
      ),
    )
    const past = this.#kept.filter((each) => each.at <= upTo)
    const history = new History(past, upTo, mayWait)
    const wrong = violations(history, allowed).filter((words) => !this.#wrong.has(untimed(words)))
    for (const words of wrong) this.#wrong.add(untimed(words))
    const figures = figuresOf(history, this.#judgedUpTo)
    const isRecent = (each: Happening): boolean => each.at > upTo - memoryOf(each) || open.has(each)
    // A load is known for as long as its end.
    const ended = new Set(this.#kept.flatMap((each) => (each.what === 'loaded' && isRecent(each) ? [each.load] : [])))
    const lasts = (each: Happening): boolean => isRecent(each) || (each.what === 'load' && ended.has(each.load))
    // A load is judged by what has happened since its caller asked.
    const askers = new Set(this.#kept.flatMap((each) => (each.what === 'load' && lasts(each) ? [each.call] : [])))
    this.#kept = this.#kept.filter(
      (each) => lasts(each) || ((each.what === 'call' || each.what === 'answer') && askers.has(each.call)),
    )
    this.#judgedUpTo = upTo
    return { figures, wrong }
  }
}

/** What is said of something, however long that has lasted by then, and whatever is still known of it. */
function untimed(words: string): string {
  return words.replace(/ for [\d.]+ ms.*|: the last was .*/, '').replaceAll(/\d+ (ms|more)/g, '')
}

function memoryOf(happening: Happening): number {
  const { what } = happening
  if (what === 'call' || what === 'answer') return memoryOfCalls
  // It explains the loads that follow it.
  if (what === 'loaded' && happening.ends === 'pass') return memoryOfLoads + passLasts
  return what === 'fault' || what === 'healed' ? memoryOfFaults : memoryOfLoads
}

/** What has begun and not ended up to a moment, in a process that lives; and the deaths of processes. */
function openAt(happenings: readonly Happening[], upTo: number): Set<Happening> {
  const ended = new Set<string>()
  const dead = new Set<number>()
  for (const each of happenings) {
    if (each.at > upTo) continue
    if (each.what === 'answer') ended.add(each.call)
    if (each.what === 'loaded' || each.what === 'lost') ended.add(each.load)
    if (each.what === 'written') ended.add(each.write)
    if (each.what === 'killed') dead.add(each.process)
  }
  return new Set(
    happenings.filter((each) => {
      if (each.what === 'killed') return true
      if (each.what === 'call') return !ended.has(each.call) && !dead.has(each.process)
      if (each.what === 'load') return !ended.has(each.load) && !dead.has(each.process)
      return each.what === 'write' && !ended.has(each.write) && !dead.has(each.process)
    }),
  )
}
