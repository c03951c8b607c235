import { afterEach, describe, expect, test, vi } from 'vitest'
import { settled } from '../../support/fake-clock.ts'
import { fleet } from '../support/fleet.ts'
import { loading } from '../support/source.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

const aModule = 'data:text/javascript,export const a = 1'
const made = (): { list: number[] } => ({ list: [1] })

describe('outside production, a value is frozen on a miss as on a hit', () => {
  test('for the caller whose loader ran, with and without the store', async () => {
    const { a, ways } = fleet({ near: {} })
    const first = await a.getOrLoad('k', made)
    expect(() => first.list.push(2)).toThrow(TypeError)
    expect(await a.getOrLoad('k', made)).toEqual({ list: [1] })
    ways.a.mode = 'failing'
    const second = await a.getOrLoad('other', made)
    expect(() => second.list.push(2)).toThrow(TypeError)
  })

  test('for a caller that has waited for the load of another process', async () => {
    const { a, b } = fleet({ near: {} })
    const { source } = await loading(a)
    const waiting = b.getOrLoad('k', made)
    await settled()
    await source.resolve(0, { list: [1] } as never)
    const value = await waiting
    expect(() => value.list.push(2)).toThrow(TypeError)
  })

  test.for([
    ['a value of a class, which cannot be frozen', { near: {} }, (): object => new Map([['list', [1]]])],
    ['values that are cloned', { near: { values: 'cloned' } }, made],
    ['values that are shared', { near: { values: 'shared' } }, made],
    ['a cache without copies', {}, made],
  ] as const)('but not %s', async ([, options, loader]) => {
    const { a } = fleet(options)
    expect(Object.isFrozen(await a.getOrLoad<object>('k', loader))).toBe(false)
  })

  test.for([
    ['a module, which cannot be frozen', (): Promise<object> => import(aModule)],
    [
      'an object with a getter that throws',
      () => ({
        get part() {
          throw new Error('no part')
        },
      }),
    ],
  ] as const)('and %s reaches its caller as it is', async ([, make]) => {
    const { a } = fleet({ near: {}, warnings: false })
    const value = await make()
    expect(await a.getOrLoad<object>('k', () => value)).toBe(value)
    await expect(a.close()).resolves.toBeUndefined()
  })
})

test('in production, the result of a loader is left as it is', async () => {
  vi.stubEnv('NODE_ENV', 'production')
  const { a } = fleet({ near: {}, warnings: false })
  const value = await a.getOrLoad('k', made)
  value.list.push(2)
  expect(value).toEqual({ list: [1, 2] })
})
