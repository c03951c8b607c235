import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Watcher } from '../../src/redis/watcher.ts'

const window = 300

/** A watcher, what it has said that it wants to hear, and how often all its copies were dropped. */
function watched() {
  const said: { confirmed: (all: boolean) => void; forgotten: boolean }[] = []
  const state = { dropped: 0, closed: false, deaf: false }
  const copies = { drop: () => undefined, dropTags: () => undefined, dropAll: () => void state.dropped++ }
  const watcher = new Watcher('shop:', copies, {
    window,
    say: (confirmed) => {
      if (state.deaf) return null
      const one = { confirmed, forgotten: false }
      said.push(one)
      return () => void (one.forgotten = true)
    },
    onClose: () => void (state.closed = true),
  })
  /** The sign that was asked for at this place comes. */
  const sign = (index: number, all = true): void => said[index]?.confirmed(all)
  return { watcher, said, state, sign }
}

describe('the promise that copies are told what goes', () => {
  beforeEach(() => vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'], now: 1_000 }))
  afterEach(() => vi.useRealTimers())

  test('holds for a while from when a sign was asked for, not from when it came', () => {
    const { watcher, sign } = watched()
    expect(watcher.until).toBe(0)
    const askedAt = performance.now()
    watcher.keep(10_000)
    vi.advanceTimersByTime(90)
    expect(watcher.until).toBe(0)
    sign(0, false)
    expect(watcher.until).toBe(askedAt + window)
  })

  test('is renewed three times in that time, as long as copies are kept, and no longer', () => {
    const { watcher, said } = watched()
    watcher.keep(1_000)
    vi.advanceTimersByTime(900)
    expect(said).toHaveLength(10)
    watcher.keep(1_000)
    vi.advanceTimersByTime(60_000)
    expect(said).toHaveLength(20)
    expect(vi.getTimerCount()).toBe(0)
    watcher.keep(1_000)
    expect(said).toHaveLength(21)
  })

  test('has all copies dropped when something was not told since the last sign', () => {
    const { watcher, state, sign } = watched()
    watcher.keep(10_000)
    sign(0, false)
    expect(state.dropped).toBe(1)
    vi.advanceTimersByTime(100)
    sign(1)
    expect(state.dropped).toBe(1)
    vi.advanceTimersByTime(100)
    sign(2, false)
    expect(state.dropped).toBe(2)
  })

  test('ends when messages may have been lost, and with the next sign all copies go', () => {
    const { watcher, said, state, sign } = watched()
    watcher.keep(10_000)
    sign(0, false)
    vi.advanceTimersByTime(100)
    watcher.interrupted()
    expect(watcher.until).toBe(0)
    expect(said[1]?.forgotten, 'the sign that was on its way is not waited for').toBe(true)
    vi.advanceTimersByTime(100)
    sign(2)
    expect(state.dropped).toBe(2)
    expect(watcher.until).toBe(performance.now() + window)
  })

  test('does not wait for ever for signs that do not come', () => {
    const { watcher, said, sign } = watched()
    watcher.keep(10_000)
    vi.advanceTimersByTime(5_000)
    expect(said.filter(({ forgotten }) => !forgotten)).toHaveLength(10)
    // Those before it will not come any more.
    sign(said.length - 1)
    expect(said.every(({ forgotten }) => forgotten)).toBe(true)
  })

  test('drops all copies after signs that were not waited for: one of them may have said that something was missed', () => {
    const { watcher, state, said, sign } = watched()
    watcher.keep(10_000)
    sign(0, false)
    vi.advanceTimersByTime(1_200)
    sign(said.length - 1)
    expect(state.dropped).toBe(2)
  })

  test('is not asked for while nothing can be told, and again when it can', () => {
    const { watcher, said, state } = watched()
    state.deaf = true
    watcher.keep(10_000)
    vi.advanceTimersByTime(1_000)
    expect(said).toHaveLength(0)
    state.deaf = false
    vi.advanceTimersByTime(100)
    expect(said).toHaveLength(1)
  })

  test('is given up for good when it is closed', () => {
    const { watcher, said, state } = watched()
    watcher.keep(10_000)
    watcher.close()
    expect(state.closed).toBe(true)
    watcher.keep(10_000)
    expect(said, 'a read that was on its way does not begin it again').toHaveLength(1)
    expect(said[0]?.forgotten).toBe(true)
    expect(vi.getTimerCount()).toBe(0)
  })
})
