import { setTimeout as pause } from 'node:timers/promises'
import { Bench } from './bench.ts'
import { shownFigures, summed, type Figures } from './figures.ts'
import { inflict } from './play.ts'
import { allowancesFor, healsWithin, leftOut, workIn, type Inflicted, type Scenario } from './scenario.ts'
import { memoryOfFaults } from './segments.ts'
import { usualWork, type Settings } from './settings.ts'
import { Stage } from './stage.ts'

/** What came of a fleet that went through many faults. */
export interface Endured {
  /** In milliseconds. */
  readonly lasted: number
  readonly figures: Figures
  /** How often each fault was on it. */
  readonly faults: Readonly<Record<string, number>>
  readonly wrong: readonly string[]
  /** How many bytes were in use in each process that lived long enough, from sample to sample. */
  readonly heaps: ReadonlyMap<number, readonly number[]>
}

/** How long history is judged in one go, and how much later than it happens, in milliseconds. */
const segment = 15_000
const lag = 1_000

/** Lets a fleet work for so long, under one fault after the other, on the same servers; for one alone it works as that says. */
export async function endure(
  scenarios: readonly Scenario[],
  {
    settings,
    lasts,
    progress = () => {},
    ...shape
  }: { settings: Settings; seed: number; rate?: number; lasts: number; progress?: (line: string) => void },
): Promise<Endured> {
  const [first] = scenarios
  if (first === undefined || scenarios.some(({ on }) => on !== first.on))
    throw new TypeError('Expected scenarios on servers of one kind')
  await using bench = new Bench()
  const figures: Figures[] = []
  const wrong: string[] = []
  const faults: Record<string, number> = {}
  const heaps = new Map<number, number[]>()
  let recent: Inflicted[] = []
  const alone = scenarios.length === 1 ? first : undefined
  await using stage = await Stage.set(first.on, {
    ...shape,
    work: alone === undefined ? usualWork[settings] : workIn(alone, settings),
    network: scenarios.some(({ network = false }) => network),
    sampled: true,
    ...(alone?.client === undefined ? {} : { client: alone.client }),
    note: (happening) => bench.add(happening),
  })
  const usual = stage.work

  const judge = async (upTo: number): Promise<void> => {
    const allowed = allowancesFor(recent)
    const judged = await bench.judge(upTo, allowed)
    figures.push(judged.figures)
    wrong.push(...judged.wrong)
    progress(`${(upTo / 1_000).toFixed(0)} s: ${recent.map(({ scenario }) => scenario.name).join(', ')}`)
    progress(`  ${shownFigures(judged.figures)}`)
    for (const words of judged.wrong) progress(`  WRONG ${words}`)
    recent = recent.filter(({ to }) => to > upTo - memoryOfFaults)
  }

  const sample = async (): Promise<void> => {
    for (const each of stage.processes) heaps.set(each.number, [...(heaps.get(each.number) ?? []), await each.heap()])
  }

  await pause(1_000)
  for (let judgedAt = 0; stage.now() < lasts;) {
    const scenario = stage.random.pick(scenarios)
    const work = { ...workIn(scenario, settings), rate: usual.rate }
    await stage.adjust(work)
    recent.push(await inflict(scenario, stage, work))
    await stage.adjust(usual)
    faults[scenario.name] = (faults[scenario.name] ?? 0) + 1
    await pause(healsWithin(scenario) + lag + stage.random.between(500, 1_500))
    await scenario.tidy?.(stage)
    if (stage.now() - judgedAt < segment) continue
    judgedAt = stage.now()
    await judge(judgedAt - lag)
    await sample()
  }
  const lasted = stage.now()
  const left = await stage.finish()
  await judge(stage.now())
  return { lasted, figures: summed(figures), faults, wrong: [...wrong, ...left, ...growing(heaps)], heaps }
}

/** Whether a scenario can be played on a fleet that is at work already, and goes on after it. */
export function isRepeatable(scenario: Scenario, settings: Settings): boolean {
  const [its, usual] = [workIn(scenario, settings), usualWork[settings]]
  const fromTheStart = ['wakeUp', 'commandTimeout', 'nearTtl', 'tags'] as const
  if (scenario.client !== undefined || leftOut(scenario, settings) !== undefined) return false
  return fromTheStart.every((option) => its[option] === usual[option])
}

/** So many samples, of which the first ones are of the warm-up, say something. */
const enough = 16

/** What the heap of a process may be larger in the end: code that was compiled meanwhile, buffers of the client. */
const allowance = 4_000_000

function growing(heaps: ReadonlyMap<number, readonly number[]>): string[] {
  return [...heaps].flatMap(([process, samples]) => {
    const growth = growthOf(samples)
    if (growth === undefined || growth < allowance) return []
    return [`7: the heap of process ${process} has grown by ${(growth / 1e6).toFixed(1)} MB`]
  })
}

/** By how many bytes the median of the last quarter exceeds that of the first, after the warm-up. */
export function growthOf(samples: readonly number[]): number | undefined {
  if (samples.length < enough) return undefined
  const warm = samples.slice(Math.floor(samples.length / 8))
  const quarter = Math.floor(warm.length / 4)
  return median(warm.slice(-quarter)) - median(warm.slice(0, quarter))
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0
}
