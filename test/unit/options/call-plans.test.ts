import { describe, expect, test } from 'vitest'
import { CallPlans } from '../../../src/core/options/call-plans.ts'
import type { CallOptions } from '../../../src/core/options/options.ts'
import { planOf } from '../../../src/core/options/plan.ts'

const plansOf = (): CallPlans => new CallPlans(planOf({ ttl: '1m', tags: ['all'] }))

describe('the plans of calls', () => {
  test('are the same object for the same options', () => {
    const plans = plansOf()
    const { plan } = plans.planOf({ ttl: '5s', grace: 10 }, 'getOrLoad')
    expect(plan).toMatchObject({ ttl: 5_000, grace: 10, tags: ['all'] })
    expect(plans.planOf({ ttl: '5s', grace: 10 }, 'getOrLoad').plan).toBe(plan)
    expect(plans.planOf({ ttl: '6s', grace: 10 }, 'getOrLoad').plan).toMatchObject({ ttl: 6_000, grace: 10 })
    expect(plans.planOf({ ttl: '5s' }, 'getOrLoad').plan).toMatchObject({ ttl: 5_000, grace: 0 })
    expect(plans.planOf(undefined, 'getOrLoad').plan).toMatchObject({ ttl: 60_000 })
  })

  test('do not differ by tags and signal, which each call has for itself', () => {
    const plans = plansOf()
    const { signal } = new AbortController()
    const first = plans.planOf({ ttl: '5s', tags: ['a', 'a', 'b'] }, 'getOrLoad')
    const second = plans.planOf({ signal, ttl: '5s' }, 'getOrLoad')
    expect(first.plan).toBe(second.plan)
    expect([first.tags, first.signal]).toEqual([['a', 'b'], undefined])
    expect([second.tags, second.signal]).toEqual([['all'], signal])
  })

  test('follow an object that is changed between two calls', () => {
    const plans = plansOf()
    const options = { ttl: 1_000, negativeTtl: { null: 10 } }
    expect(plans.planOf(options, 'getOrLoad').plan).toMatchObject({ ttl: 1_000, negativeTtl: { null: 10 } })
    options.ttl = 2_000
    options.negativeTtl.null = 20
    expect(plans.planOf(options, 'getOrLoad').plan).toMatchObject({ ttl: 2_000, negativeTtl: { null: 20 } })
  })

  test('are refused each time for a wrong option, also beside known ones', () => {
    const plans = plansOf()
    plans.planOf({ ttl: 5 }, 'getOrLoad')
    const wrong = [
      { ttl: -1 },
      { ttl: 5, tll: 5 },
      { ttl: 5, tags: 'all' },
      { ttl: 5, tags: [''] },
      { ttl: 5, signal: 1 },
    ]
    for (const each of [...wrong, ...wrong]) {
      const options = each as unknown as CallOptions
      expect(() => plans.planOf(options, 'getOrLoad')).toThrow(TypeError)
      const kindOfCopies = (): void => {
        if (plans.kindOfCopies(options) === null) throw new TypeError('they are not known')
      }
      expect(kindOfCopies).toThrow(TypeError)
    }
    expect(() => plans.planOf(null as unknown as CallOptions, 'getOrLoad')).toThrow(TypeError)
  })

  test('have nothing of what an object inherits', () => {
    const plans = plansOf()
    plans.planOf({ ttl: 5 }, 'getOrLoad')
    const inherits = Object.create({ ttl: 5 }) as CallOptions
    expect(plans.planOf(inherits, 'getOrLoad').plan.ttl).toBe(60_000)
  })

  test('are not forgotten for objects that cannot be found again', () => {
    const plans = plansOf()
    const { plan } = plans.planOf({ ttl: 5 }, 'getOrLoad')
    for (let ttl = 100; ttl < 200; ttl++) {
      const options = Object.assign(Object.create(null) as CallOptions, { ttl })
      expect(plans.planOf(options, 'getOrLoad').plan.ttl).toBe(ttl)
    }
    expect(plans.planOf({ ttl: 5 }, 'getOrLoad').plan).toBe(plan)
  })

  test('are right for more options than are remembered', () => {
    const plans = plansOf()
    for (const _round of [1, 2]) {
      for (let ttl = 1; ttl <= 100; ttl++) expect(plans.planOf({ ttl }, 'getOrLoad').plan.ttl).toBe(ttl)
    }
  })

  test('do not matter to a call that finds a near copy, unless it refreshes ahead', () => {
    const plans = plansOf()
    const known = { schema: null, version: null }
    expect(plans.kindOfCopies(undefined)).toMatchObject(known)
    expect(plans.kindOfCopies({ ttl: 5 })).toBe(null)
    plans.planOf({ ttl: 5 }, 'getOrLoad')
    expect(plans.kindOfCopies({ ttl: 5 })).toMatchObject(known)
    expect(plans.kindOfCopies({ ttl: 5, tags: ['t'] })).toMatchObject(known)
    expect(plans.kindOfCopies({ ttl: 5, signal: new AbortController().signal })).toBe(null)
    plans.planOf({ ttl: 5, refreshAhead: 0.5 }, 'getOrLoad')
    expect(plans.kindOfCopies({ ttl: 5, refreshAhead: 0.5 })).toBe(null)
  })
})
