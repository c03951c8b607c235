import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Watcher } from '../../../src/redis/push/watcher.ts'

const window = 300

/** Copies, and what they were told. */
function someCopies() {
  const gone: string[] = []
  return {
    gone,
    drop: (keys: readonly string[]) => void gone.push(...keys),
    dropTags: (tags: readonly string[]) => void gone.push(...tags),
    dropAll: () => void gone.push('all'),
  }
}

/** A watcher with the copies of one cache, and what it has asked for. */
function watched() {
  const copies = someCopies()
  const state = { asked: 0, deaf: false, ended: false }
  const watcher = new Watcher({
    window,
    ask: () => (state.deaf ? null : `sign ${state.asked++}`),
    onEnd: () => void (state.ended = true),
  })
  const watch = watcher.watch(copies)
  /** The sign that was asked for at this place comes, and says what was told last. */
  const sign = (index: number, last = 'first'): void => watcher.sign(`sign ${index}`, last)
  /** A change of a key is told. */
  const told = (token: string, previous: string): void => {
    watcher.told(token, { previous, from: '', keys: [`of ${token}`], tags: [] })
  }
  return { watcher, watch, gone: copies.gone, state, sign, told }
}

describe('the promise that copies are told what goes', () => {
  beforeEach(() => vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'], now: 1_000 }))
  afterEach(() => vi.useRealTimers())

  test('holds for a while from when a sign was asked for, not from when it came', () => {
    const { watch, sign } = watched()
    expect(watch.until).toBe(0)
    const askedAt = performance.now()
    watch.keep(10_000)
    vi.advanceTimersByTime(90)
    expect(watch.until).toBe(0)
    sign(0)
    expect(watch.until).toBe(askedAt + window)
  })

  test('is renewed three times in that time, as long as copies are kept, and no longer', () => {
    const { watch, state } = watched()
    watch.keep(1_000)
    vi.advanceTimersByTime(900)
    expect(state.asked).toBe(10)
    watch.keep(1_000)
    vi.advanceTimersByTime(60_000)
    expect(state.asked).toBe(20)
    expect(vi.getTimerCount()).toBe(0)
    watch.keep(1_000)
    expect(state.asked).toBe(21)
  })

  test('is not made shorter by a sign that comes late, nor made at all by one that was not asked for', () => {
    const { watch, sign } = watched()
    watch.keep(10_000)
    vi.advanceTimersByTime(100)
    sign(1)
    const { until } = watch
    sign(0)
    sign(7)
    expect(watch.until).toBe(until)
    vi.advanceTimersByTime(100)
    sign(1)
    expect(watch.until, 'each is good once').toBe(until)
  })

  test('is not made by a sign that comes when its time is over', () => {
    const { watch, sign } = watched()
    watch.keep(10_000)
    vi.advanceTimersByTime(window)
    sign(0)
    expect(watch.until).toBe(0)
  })

  test('has all copies dropped by the first sign, and then only what is told', () => {
    const { watch, gone, sign, told } = watched()
    watch.keep(10_000)
    sign(0, 'first')
    told('second', 'first')
    told('third', 'second')
    vi.advanceTimersByTime(100)
    sign(1, 'third')
    expect(gone).toEqual(['all', 'of second', 'of third'])
  })

  test('has all copies dropped when a sign shows that the last change was not told', () => {
    const { watch, gone, sign } = watched()
    watch.keep(10_000)
    sign(0, 'first')
    vi.advanceTimersByTime(100)
    sign(1, 'second')
    expect(gone).toEqual(['all', 'all'])
    vi.advanceTimersByTime(100)
    sign(2, 'second')
    expect(gone, 'once').toHaveLength(2)
  })

  test('has all copies dropped when a change shows that the one before it was not told', () => {
    const { watch, gone, sign, told } = watched()
    watch.keep(10_000)
    sign(0, 'first')
    told('third', 'second')
    expect(gone).toEqual(['all', 'all', 'of third'])
    vi.advanceTimersByTime(100)
    sign(1, 'third')
    expect(gone).toHaveLength(3)
  })

  test('is one for all caches of its namespace', () => {
    const { watcher, watch, gone, state, sign, told } = watched()
    const others = someCopies()
    const other = watcher.watch(others)
    watch.keep(1_000)
    other.keep(500)
    expect(state.asked).toBe(1)
    sign(0)
    told('second', 'first')
    expect(other.until).toBe(watch.until)
    expect(others.gone).toEqual(gone)
    vi.advanceTimersByTime(950)
    expect(state.asked, 'as long as the one that keeps them longest').toBe(10)
  })

  test('is not asked for while nothing can be told, and again when it can', () => {
    const { watch, state } = watched()
    state.deaf = true
    watch.keep(10_000)
    vi.advanceTimersByTime(1_000)
    expect(state.asked).toBe(0)
    state.deaf = false
    vi.advanceTimersByTime(100)
    expect(state.asked).toBe(1)
  })

  test('ends with the last cache, and is not begun again by a read of a closed one that was on its way', () => {
    const { watcher, watch, state } = watched()
    const other = watcher.watch(someCopies())
    watch.keep(10_000)
    watch.close()
    expect(state.ended).toBe(false)
    expect(vi.getTimerCount()).toBe(1)
    other.close()
    expect(state.ended).toBe(true)
    expect(vi.getTimerCount()).toBe(0)
    watch.keep(10_000)
    expect(state.asked).toBe(1)
    expect(vi.getTimerCount()).toBe(0)
  })
})
