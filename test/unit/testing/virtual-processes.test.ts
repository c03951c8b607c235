import { describe, expect, test } from 'vitest'
import { FakeClock } from '../../support/fake-clock.ts'
import { Process } from '../../../src/testing/virtual-fleet/process.ts'

/** A process, and what it has run. */
function running(): { clock: FakeClock; process: Process; ran: string[]; does: (what: string) => () => void } {
  const clock = new FakeClock()
  const ran: string[] = []
  return { clock, process: new Process(1, clock), ran, does: (what) => () => ran.push(what) }
}

describe('a process of a virtual fleet', () => {
  test('that is paused runs nothing, and runs what is overdue when it goes on', async () => {
    const { clock, process, ran, does } = running()
    process.after(10, does('timer'))
    process.after(30, does('later timer'))
    process.pause()
    process.receive(does('answer'))
    await clock.advance(20)
    expect(ran).toEqual([])
    process.resume('timers')
    await clock.advance(0)
    expect(ran).toEqual(['timer', 'answer'])
    await clock.advance(10)
    expect(ran).toEqual(['timer', 'answer', 'later timer'])
  })

  test('may read what has arrived before it looks at its timers', async () => {
    const { clock, process, ran, does } = running()
    process.after(10, does('timer'))
    process.pause()
    await clock.advance(20)
    process.receive(does('answer'))
    process.resume('answers')
    await clock.advance(0)
    expect(ran).toEqual(['answer', 'timer'])
  })

  test('does not run a timer that it cancels although it is overdue', async () => {
    const { clock, process, ran, does } = running()
    const timer = process.after(10, does('timer'))
    process.pause()
    await clock.advance(20)
    process.receive(() => timer.cancel())
    process.resume('answers')
    await clock.advance(0)
    expect(ran).toEqual([])
  })
})
