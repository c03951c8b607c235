import { describe, expect, test } from 'vitest'
import { circleAbove, circleThrough, type LoadNode } from '../../../src/core/load/circular-load.ts'

const cache = {}

function loading(key: string, parent: LoadNode | null = null): LoadNode {
  return { key, cache, parent, running: true, waitsFor: new Set() }
}

function wait(from: LoadNode, to: LoadNode): void {
  from.waitsFor.add({ to })
}

describe('a loader that starts a load', () => {
  test('may do so outside of any other load', () => {
    expect(circleAbove(null, cache, 'A')).toBeNull()
  })

  test('may load another key', () => {
    expect(circleAbove(loading('B', loading('A')), cache, 'C')).toBeNull()
  })

  test('may not load its own key (rule 9)', () => {
    expect(circleAbove(loading('A'), cache, 'A')).toMatchObject({
      code: 'CIRCULAR_LOAD',
      key: 'A',
      message: 'A loader waits for its own key: "A" → "A"',
    })
  })

  test('may not load a key that waits for it, and is told the chain (rule 9)', () => {
    const chain = loading('C', loading('B', loading('A')))
    expect(circleAbove(chain, cache, 'A')?.message).toBe('A loader waits for its own key: "A" → "B" → "C" → "A"')
    expect(circleAbove(chain, cache, 'B')?.message).toBe('A loader waits for its own key: "B" → "C" → "B"')
  })

  test('may load a key of the same name in another cache', () => {
    expect(circleAbove(loading('A'), {}, 'A')).toBeNull()
  })

  test('is told of long and strange keys in short', () => {
    const key = `\n${'k'.repeat(1_000)}`
    expect(circleAbove(loading(key), cache, key)?.message.length).toBeLessThan(200)
    expect(circleAbove(loading(key), cache, key)?.message).toContain(String.raw`"\nkkk`)
  })
})

describe('a loader that joins a load', () => {
  test('may wait for one that does not wait for it', () => {
    const [a, b, c] = [loading('A'), loading('B'), loading('C')]
    wait(b, c)
    expect(circleThrough(a, b)).toBeNull()
  })

  test('may not wait for itself (rule 9)', () => {
    const a = loading('A')
    expect(circleThrough(a, a)?.message).toBe('A loader waits for its own key: "A" → "A"')
  })

  test('may not wait for one that waits for it, directly or through others (rule 9)', () => {
    const [a, b, c, d] = [loading('A'), loading('B'), loading('C'), loading('D')]
    wait(b, d)
    wait(b, c)
    wait(c, a)
    expect(circleThrough(a, c)?.message).toBe('A loader waits for its own key: "A" → "C" → "A"')
    expect(circleThrough(a, b)?.message).toBe('A loader waits for its own key: "A" → "B" → "C" → "A"')
    expect(circleThrough(d, b)?.message).toBe('A loader waits for its own key: "D" → "B" → "D"')
  })

  test('is not held up by a circle that others are in', () => {
    const [a, b, c] = [loading('A'), loading('B'), loading('C')]
    wait(b, c)
    wait(c, b)
    expect(circleThrough(a, b)).toBeNull()
  })
})
