import { describe, expect, test } from 'vitest'
import { Watcher } from '../../../src/redis/push/watcher.ts'
import { FakeClock } from '../../support/fake-clock.ts'

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

/**
 * A watcher with the copies of one cache, and what it has asked for.
 * @param keep for how long that keeps them, in milliseconds
 */
function watched(keep = 10_000, deaf = false) {
  const copies = someCopies()
  const state = { asked: 0, deaf, ended: false }
  const clock = new FakeClock()
  const ask = (): string | null => (state.deaf ? null : `sign ${state.asked++}`)
  const tracking = {
    isWhole: false,
    closed: false,
    changed: (): void => undefined,
    close: () => void (tracking.closed = true),
  }
  const track = ({ changed }: { changed: () => void }): typeof tracking => Object.assign(tracking, { changed })
  const watcher = new Watcher({ window, ask, track, onEnd: () => void (state.ended = true) }, clock)
  const watch = watcher.watch(copies)
  const askedAt = clock.now()
  watch.keep(keep)
  /** The sign that was asked for at this place comes, and says what was told last. */
  const sign = (index: number, last = 'first'): void => watcher.sign(`sign ${index}`, last)
  /** A change of a key is told. */
  const told = (token: string, previous: string): void => {
    watcher.told(token, { previous, from: '', keys: [`of ${token}`], tags: [] })
  }
  return { clock, watcher, watch, askedAt, gone: copies.gone, state, sign, told, tracking }
}

describe('the promise that copies are told what goes', () => {
  test('holds for a while from when a sign was asked for, not from when it came', async () => {
    const { clock, watch, askedAt, sign } = watched()
    await clock.advance(90)
    expect(watch.until).toBe(0)
    sign(0)
    expect(watch.until).toBe(askedAt + window)
  })

  test('is renewed three times in that time, as long as copies are kept, and no longer', async () => {
    const { clock, watch, state } = watched(1_000)
    await clock.advance(900)
    expect(state.asked).toBe(10)
    watch.keep(1_000)
    await clock.advance(60_000)
    expect(state.asked).toBe(20)
    expect(clock.pending).toBe(0)
    watch.keep(1_000)
    expect(state.asked).toBe(21)
  })

  test('is not made shorter by a sign that comes late, nor made at all by one that was not asked for', async () => {
    const { clock, watch, sign } = watched()
    await clock.advance(100)
    sign(1)
    const { until } = watch
    sign(0)
    sign(7)
    expect(watch.until).toBe(until)
    await clock.advance(100)
    sign(1)
    expect(watch.until, 'each is good once').toBe(until)
  })

  test('is not made by a sign that comes when its time is over', async () => {
    const { clock, watch, sign } = watched()
    await clock.advance(window)
    sign(0)
    expect(watch.until).toBe(0)
  })

  test('has all copies dropped by the first sign, and then only what is told', async () => {
    const { clock, gone, sign, told } = watched()
    sign(0, 'first')
    told('second', 'first')
    told('third', 'second')
    await clock.advance(100)
    sign(1, 'third')
    expect(gone).toEqual(['all', 'of second', 'of third'])
  })

  test('has all copies dropped when a sign shows that the last change was not told', async () => {
    const { clock, gone, sign } = watched()
    sign(0, 'first')
    await clock.advance(100)
    sign(1, 'second')
    expect(gone).toEqual(['all', 'all'])
    await clock.advance(100)
    sign(2, 'second')
    expect(gone, 'once').toHaveLength(2)
  })

  test('has all copies dropped when a change shows that the one before it was not told', async () => {
    const { clock, gone, sign, told } = watched()
    sign(0, 'first')
    told('third', 'second')
    expect(gone).toEqual(['all', 'all', 'of third'])
    await clock.advance(100)
    sign(1, 'third')
    expect(gone).toHaveLength(3)
  })

  test('is one for all caches of its namespace', async () => {
    const { clock, watcher, watch, gone, state, sign, told } = watched(1_000)
    const others = someCopies()
    const other = watcher.watch(others)
    other.keep(500)
    expect(state.asked).toBe(1)
    sign(0)
    told('second', 'first')
    expect(other.until).toBe(watch.until)
    expect(others.gone).toEqual(gone)
    await clock.advance(950)
    expect(state.asked, 'as long as the one that keeps them longest').toBe(10)
  })

  test('is not asked for while nothing can be told, and again when it can', async () => {
    const { clock, state } = watched(10_000, true)
    await clock.advance(1_000)
    expect(state.asked).toBe(0)
    state.deaf = false
    await clock.advance(100)
    expect(state.asked).toBe(1)
  })

  test('is none, for copies that hear of changes by others, while those are not reported', async () => {
    const { clock, watcher, watch: plain, askedAt, sign, tracking } = watched()
    const copies = { ...someCopies(), doubt: () => null }
    const watch = watcher.watchForeign(copies)
    sign(0)
    expect([plain.until, watch.until]).toEqual([askedAt + window, 0])
    copies.gone.length = 0
    tracking.isWhole = true
    tracking.changed()
    expect(watch.until).toBe(askedAt + window)
    expect(copies.gone, 'something may have changed before').toEqual(['all'])
    tracking.isWhole = false
    tracking.changed()
    await clock.advance(100)
    sign(1)
    expect([plain.until, watch.until]).toEqual([askedAt + 100 + window, 0])
    watch.close()
    expect(tracking.closed).toBe(true)
    sign(2)
    expect(watcher.watchForeign(copies).until).toBe(0)
  })

  test('ends with the last cache, and is not begun again by a read of a closed one that was on its way', async () => {
    const { clock, watcher, watch, state } = watched()
    const other = watcher.watch(someCopies())
    watch.close()
    expect(state.ended).toBe(false)
    expect(clock.pending).toBe(1)
    other.close()
    expect(state.ended).toBe(true)
    expect(clock.pending).toBe(0)
    watch.keep(10_000)
    expect(state.asked).toBe(1)
    expect(clock.pending).toBe(0)
  })
})
