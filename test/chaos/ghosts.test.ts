import { describe, expect, test } from 'vitest'
import { History, type Happening } from '../support/history.ts'
import { heals, noLeaseWithoutLoad, nothingPastItsTime, violations } from '../support/invariants.ts'

/** The lease of a load that runs from one moment to another, which is seen every 100 ms from one to another. */
function leased(load: { from: number; to: number }, seen: { from: number; to: number }, process = 0): Happening[] {
  const lease = { key: 'k', token: 't', fence: '7', process }
  const looks = Array.from({ length: Math.floor((seen.to - seen.from) / 100) + 1 }, (_, index): Happening => {
    return { what: 'seen', at: seen.from + 100 * index, leases: [lease] }
  })
  return [
    { what: 'load', at: load.from, process, load: 'l', call: 'c', key: 'k', fence: '7' },
    { what: 'loaded', at: load.to, process, load: 'l', ends: 'value' },
    ...looks,
  ]
}

function fault(from: number, to: number): Happening[] {
  return [
    { what: 'fault', at: from, name: 'f' },
    { what: 'healed', at: to, name: 'f' },
  ]
}

function call(at: number, process = 1): Happening {
  return { what: 'call', at, process, call: `at ${at}`, key: 'k', within: 30_000 }
}

function said(happenings: Happening[]): string[] {
  return noLeaseWithoutLoad(new History(happenings))
}

test('a lease may be there for as long as its load runs, and a moment more', () => {
  expect(said(leased({ from: 0, to: 9_000 }, { from: 0, to: 9_900 }))).toEqual([])
})

test('a lease that outlives its load is a ghost', () => {
  expect(said(leased({ from: 0, to: 100 }, { from: 0, to: 1_500 }))).toEqual([
    '9: k had the lease t for 1400 ms although its load l had ended',
  ])
})

test('so is one that no load ever ran under', () => {
  const looks = leased({ from: 0, to: 100 }, { from: 0, to: 1_500 }).filter(({ what }) => what === 'seen')
  expect(said(looks)).toEqual(['9: k had the lease t for 1500 ms although no load ran under it'])
})

test('a lease that comes back is counted from there', () => {
  const again = leased({ from: 0, to: 100 }, { from: 0, to: 800 })
  const gone: Happening = { what: 'seen', at: 900, leases: [] }
  const later = leased({ from: 0, to: 100 }, { from: 1_000, to: 1_900 })
  expect(said([...again, gone, ...later])).toEqual([])
})

test('a fault excuses a ghost until a second and a half after it', () => {
  expect(said([...fault(200, 1_000), ...leased({ from: 0, to: 300 }, { from: 0, to: 2_400 })])).toEqual([])
  expect(said([...fault(200, 1_000), ...leased({ from: 0, to: 300 }, { from: 0, to: 2_600 })])).toHaveLength(1)
})

test('a process that is blocked is not blamed for what it holds', () => {
  const stands: Happening[] = [
    { what: 'stopped', at: 150, process: 0 },
    { what: 'resumed', at: 3_000, process: 0 },
  ]
  expect(said([...stands, ...leased({ from: 0, to: 100 }, { from: 0, to: 3_900 })])).toEqual([])
  expect(said([...stands, ...leased({ from: 0, to: 100 }, { from: 0, to: 4_100 })])).toHaveLength(1)
})

test('the lease of a process that was killed counts from when others wait for it', () => {
  const killed: Happening = { what: 'killed', at: 500, process: 0 }
  const lease = leased({ from: 0, to: 9_000 }, { from: 0, to: 5_000 })
  expect(said([killed, ...lease])).toEqual([])
  expect(said([killed, call(4_500), ...lease])).toEqual([])
  expect(said([killed, call(3_000), ...lease])).toHaveLength(1)
  expect(said([killed, call(3_000, 0), ...lease])).toEqual([])
})

test('nobody may be given what had expired before they asked', () => {
  const asked = (at: number, { grace = 0 } = {}): Happening[] => [
    { what: 'load', at: 0, process: 0, load: 'l', call: 'c', key: 'k', fence: '7', ttl: 200, grace: 300 },
    { what: 'loaded', at: 100, process: 0, load: 'l', ends: 'value' },
    { what: 'call', at, process: 0, call: 'd', key: 'k', within: 1_000, grace },
    { what: 'answer', at: at + 1, process: 0, call: 'd', value: { key: 'k', by: 'l' } },
  ]
  const wrong = (...given: Parameters<typeof asked>): string[] => nothingPastItsTime(new History(asked(...given)))
  expect(wrong(320)).toEqual([])
  expect(wrong(350)).toEqual([expect.stringMatching(/^10: call d .* 50 ms past its time$/)])
  expect(wrong(600, { grace: 1_000 })).toEqual([])
  expect(wrong(650, { grace: 1_000 })).toHaveLength(1)
  expect(wrong(450, { grace: 100 })).toHaveLength(1)
})

test('nor what was set', () => {
  const asked = (at: number): History =>
    new History([
      { what: 'write', at: 0, process: 0, write: 'w', key: 'k', kind: 'set', ttl: 200 },
      { what: 'written', at: 50, process: 0, write: 'w' },
      { what: 'call', at, process: 0, call: 'd', key: 'k', within: 1_000, grace: 1_000 },
      { what: 'answer', at: at + 1, process: 0, call: 'd', value: { key: 'k', by: 'w' } },
    ])
  expect(nothingPastItsTime(asked(260))).toEqual([])
  expect(nothingPastItsTime(asked(300))).toHaveLength(1)
})

test('nobody waits for long while nothing is wrong', () => {
  const waits = (to: number): string[] => {
    const answer = (id: string, at: number): Happening => {
      return { what: 'answer', at, process: 1, call: id, value: { key: 'k', by: '' } }
    }
    const calls = [call(500), answer('at 500', to), call(3_000), answer('at 3000', 3_001)]
    return heals(new History([...fault(400, 1_000), ...calls]), { healsWithin: 1_500, patience: 2_000 })
  }
  expect(waits(4_400)).toEqual([])
  expect(waits(4_600)).toEqual([expect.stringMatching(/^8: call at 500 .* waited 2100 ms while nothing was wrong$/)])
})

describe('where time is not judged', () => {
  const answer = (at: number, told: { error: string } | { value: { key: string; by: string } }): Happening => {
    return { what: 'answer', at, process: 1, call: 'at 0', ...told }
  }
  const wrong = (happenings: Happening[], takenAway: { from: number; to: number }[] = []): string[] =>
    violations(new History(happenings), { timed: false, healsWithin: 500, patience: 100, wakeUp: 10, takenAway })

  test('nobody is answered too late, and no lease or value is there for too long', () => {
    const late = [call(0), answer(90_000, { value: { key: 'k', by: 'l' } })]
    expect(wrong([...late, ...leased({ from: 10, to: 100 }, { from: 0, to: 5_000 })])).toEqual([])
  })

  test('everybody is answered in the end all the same, without an error and with their own value', () => {
    const end: Happening = { what: 'healed', at: 90_000, name: 'f' }
    expect(wrong([call(0), end])).toEqual([expect.stringMatching(/^4: call at 0 .* has no answer at the end$/)])
    expect(wrong([call(0), answer(1, { error: 'WAIT_TIMEOUT' })])).toEqual([expect.stringMatching(/got WAIT_TIMEOUT/)])
    expect(wrong([call(0), answer(1, { value: { key: 'other', by: '' } })])).toEqual([expect.stringMatching(/^5: /)])
    const write = { what: 'write', at: 0, process: 1, write: 'w', key: 'k', kind: 'set', within: 10 } as const
    expect(wrong([write, end])).toEqual([expect.stringMatching(/^4: write w .* had not ended/)])
    expect(wrong([write, { what: 'written', at: 80_000, process: 1, write: 'w' }, end])).toEqual([])
  })

  test('two loads have a lease only while leases are taken away', () => {
    const loads = (fence: string, from: number, to: number): Happening[] => [
      { what: 'load', at: from, process: 0, load: fence, call: '', key: 'k', fence },
      { what: 'loaded', at: to, process: 0, load: fence, ends: 'value' },
    ]
    const both = [...loads('1', 0, 5_000), ...loads('2', 1_000, 6_000)]
    expect(wrong(both)).toEqual([expect.stringMatching(/^1: load 1 .* and load 2 .* both had the lease/)])
    expect(wrong(both, [{ from: 500, to: 600 }])).toEqual([])
    expect(wrong(both, [{ from: 5_500, to: 6_000 }])).toHaveLength(1)
    // A load that waits for its source has its lease long before it begins.
    for (const old of ['1', '2']) {
      const queued = both.map((each) => (each.what === 'load' && each.fence === old ? { ...each, call: 'at 0' } : each))
      const asked = [call(0), answer(5_000, { value: { key: 'k', by: old } })]
      const later = [...asked, ...queued].map((each) => (each.what === 'load' ? { ...each, at: each.at + 700 } : each))
      expect(wrong(later, [{ from: 500, to: 600 }])).toEqual([])
    }
  })
})
