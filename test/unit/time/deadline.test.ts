import { describe, expect, test } from 'vitest'
import type { Clock } from '../../../src/index.ts'
import { atMost, InFlightCommands } from '../../../src/core/time/deadline.ts'
import { FakeClock } from '../../support/fake-clock.ts'

/**
 * Commands with a deadline of 500 ms in a process that waits for events only while `waits`.
 * @param lateBy by how much its timers are late, in milliseconds
 */
function inFlight(lateBy = 0) {
  const time = new FakeClock()
  const process = { waits: true }
  let idle = 0
  const clock: Clock = {
    now: () => time.now(),
    after: (ms, ...given) => time.after(ms + lateBy, ...given),
    idle: () => idle,
  }
  const late: number[] = []
  const commands = new InFlightCommands(500, clock, (_reject, waited) => void late.push(waited))
  const begin = () => {
    const command = { since: time.now(), before: 0, reject: () => undefined }
    commands.begin(command)
    return { answer: () => commands.end(command) }
  }
  /** Lets time pass, and an answer arrive every ten milliseconds. */
  const pass = async (ms: number, answers: 'answers' | 'silence'): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 10) {
      await time.advance(10)
      if (process.waits) idle += 10
      if (answers === 'answers') begin().answer()
    }
  }
  return { late, begin, pass, process }
}

describe('the deadline of a command', () => {
  test('is not over while its process gets answers and never waits for events: it may not have read the one', async () => {
    const { late, begin, pass, process } = inFlight()
    const command = begin()
    await pass(300, 'silence')
    process.waits = false
    await pass(2_000, 'answers')
    expect(late).toEqual([])
    command.answer()
    await pass(1_000, 'silence')
    expect(late).toEqual([])
  })

  test('is over once that process waits for events again', async () => {
    const { late, begin, pass, process } = inFlight()
    process.waits = false
    begin()
    await pass(2_000, 'answers')
    expect(late).toEqual([])
    process.waits = true
    await pass(200, 'answers')
    expect(late).toHaveLength(1)
  })

  test('is over if that process gets no answers', async () => {
    const { late, begin, pass, process } = inFlight()
    process.waits = false
    begin()
    await pass(500, 'silence')
    expect(late).toEqual([500])
  })

  test('is over though each turn of the event loop makes its timers late', async () => {
    const { late, begin, pass, process } = inFlight(30)
    process.waits = false
    begin()
    await pass(1_000, 'silence')
    expect(late).toHaveLength(1)
  })

  test('is not judged by the moment between two deadlines, which is too short for an answer', async () => {
    const { late, begin, pass, process } = inFlight()
    begin()
    await pass(20, 'silence')
    const command = begin()
    process.waits = false
    await pass(500, 'silence')
    expect(late).toEqual([500])
    await pass(500, 'answers')
    command.answer()
    await pass(500, 'silence')
    expect(late).toEqual([500])
  })

  test('is over if its process waits for events, whatever else is answered', async () => {
    const { late, begin, pass } = inFlight()
    begin()
    await pass(500, 'answers')
    expect(late).toEqual([500])
  })
})

test('a wait for at most some time leaves no timer behind, also if what it waits for fails', async () => {
  const clock = new FakeClock()
  expect(await atMost(500, clock, [Promise.resolve('reply')], 'late')).toBe('reply')
  await expect(atMost(500, clock, [Promise.reject(new Error('down'))], 'late')).rejects.toThrow('down')
  expect(clock.holding).toBe(0)
})
