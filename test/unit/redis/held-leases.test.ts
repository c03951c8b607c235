import { expect, test } from 'vitest'
import { HeldLeases } from '../../../src/redis/values/held-leases.ts'

test('a lease that Redis does not hold any more is lost, and nothing of it is kept', async () => {
  const answers = new Map([
    ['ours', true],
    ['gone', false],
  ])
  const held = new HeldLeases(null, (leases) =>
    leases.map(({ token }) => Promise.resolve(answers.get(token) as boolean)),
  )
  const granted = { micros: 0, since: 7, replaces: false }
  const [, gone] = ['ours', 'gone'].map((token) => held.add({ key: 'k', token, ttl: 1_000, fence: 1n }, granted))
  held.confirmAll()
  await gone?.lost
  expect([held.end('gone'), held.end('ours')]).toEqual([null, expect.objectContaining({ since: 7 })])
})
