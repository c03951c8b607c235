import type { Connection } from '../connection.ts'
import { about, type Finding } from '../finding.ts'
import type { Subject } from './subject.ts'
import { time } from '../../units.ts'

/** The number of TIME commands. */
const samples = 20

/** The difference from which a clock is wrong and not merely inexact, in milliseconds. */
const wrong = 1_000

/** The response times of a server and the offset of its clock, in milliseconds. */
export interface Timing {
  readonly median: number
  readonly worst: number
  /** How far its clock is ahead of ours, and the uncertainty of that; `null` without permission. */
  readonly offset: { readonly ahead: number; readonly exactly: number } | null
}

/** Measures one server, with twenty commands one after the other. */
export async function timingOf(connection: Connection): Promise<Timing> {
  const took: number[] = []
  let least = Number.NEGATIVE_INFINITY
  let most = Number.POSITIVE_INFINITY
  for (let sample = 0; sample < samples; sample++) {
    const sentAt = performance.now()
    const answer = await connection.ask('TIME')
    const receivedAt = performance.now()
    // A refusal takes as long as an answer.
    took.push(receivedAt - sentAt)
    if ('refused' in answer) continue
    const [seconds, micros] = answer.reply as [string, string]
    const itsTime = Number(seconds) * 1_000 + Number(micros) / 1_000
    // The server read its clock between the sending and the receiving here.
    least = Math.max(least, itsTime - (performance.timeOrigin + receivedAt))
    most = Math.min(most, itsTime - (performance.timeOrigin + sentAt))
  }
  took.sort((a, b) => a - b)
  const known = Number.isFinite(least)
  return {
    median: took[samples / 2] as number,
    worst: took.at(-1) as number,
    offset: known ? { ahead: (least + most) / 2, exactly: Math.abs(most - least) / 2 } : null,
  }
}

/** Compares the round trip with the timeouts that depend on it. */
export function roundTrip({ settings }: Subject, { median, worst }: Timing): Finding[] {
  const voice = about('round trip', 'docs/production.md#timeouts')
  const what = `${time(median)} in the median of ${samples}, ${time(worst)} at worst`
  const { commandTimeout, leaseTtl } = settings
  if (worst >= commandTimeout) {
    const todo =
      `Commands that take ${time(commandTimeout)} (commandTimeout) count as failed: callers load for themselves. ` +
      'Move closer to the server, or raise it.'
    return [voice.problem(what, todo)]
  }
  if (worst >= commandTimeout / 2) {
    const todo =
      `That is more than half of ${time(commandTimeout)} (commandTimeout): ` +
      'a little more load, and commands count as failed.'
    return [voice.warning(what, todo)]
  }
  if (worst >= leaseTtl / 3) {
    const todo = `A lease of ${time(leaseTtl)} (leaseTtl) is renewed after every third of it, which is late. Raise it.`
    return [voice.warning(what, todo)]
  }
  return [voice.ok(what)]
}

/** Compares the server's clock with ours. */
export function clock({ offset }: Timing): Finding[] {
  const voice = about('clock', 'docs/production.md#clocks')
  if (offset === null) return [voice.note('Not allowed to ask for the time')]
  const { ahead, exactly } = offset
  const side = ahead < 0 ? 'behind' : 'ahead of'
  const what = `${time(Math.abs(ahead))} ${side} this machine, give or take ${time(exactly)}`
  if (Math.abs(ahead) - exactly < wrong) return [voice.ok(what)]
  const todo =
    'herdless goes by the clock of the server and works all the same. ' +
    'Find out which of the two is wrong: fences and versions are the time of the server.'
  return [voice.note(what, todo)]
}

/** Compares the clocks of the nodes of a cluster. */
export function clocks(timings: ReadonlyMap<string, Timing>): Finding[] {
  const voice = about('clocks', 'docs/production.md#clocks')
  const known = [...timings].flatMap(([name, { offset }]) => (offset === null ? [] : [{ name, ...offset }]))
  known.sort((a, b) => a.ahead - b.ahead)
  const [first] = known
  const last = known.at(-1)
  if (first === undefined || last === undefined || first === last) return []
  const apart = last.ahead - first.ahead
  const what = `At most ${time(apart)} apart, give or take ${time(first.exactly + last.exactly)}`
  if (apart - first.exactly - last.exactly < wrong) return [voice.ok(what)]
  const todo =
    'A process has one estimate for all nodes, so the end of a ttl is met only so exactly on a plain read. ' +
    'Synchronise their clocks.'
  return [voice.warning(`${what}: ${last.name} is ahead of ${first.name}`, todo)]
}
