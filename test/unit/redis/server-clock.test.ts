import { describe, expect, test } from 'vitest'
import { ServerClock } from '../../../src/redis/connection/server-clock.ts'
import { FakeClock } from '../../support/fake-clock.ts'

/** By how much the clock of the server is ahead of ours, in milliseconds. */
const ahead = 1_000_000

/** A sample whose command took `there` to the server, and whose reply took `back`. */
async function sampled({ there, back }: { there: number; back: number }) {
  const clock = new FakeClock()
  const server = new ServerClock(clock, () => Promise.reject(new Error('not asked')))
  const sentAt = clock.now()
  await clock.advance(there)
  const micros = (clock.now() + ahead) * 1_000
  await clock.advance(back)
  server.sample(micros, sentAt)
  return { error: server.now() - (clock.now() + ahead), late: clock.now() + ahead - server.earliestAt(sentAt) }
}

test('a command that the server had two seconds late is known to be as late, by its own reply (a set was stored 3 s late)', async () => {
  expect((await sampled({ there: 2_000, back: 0 })).late).toBe(2_000)
  expect((await sampled({ there: 1_000, back: 1_000 })).late).toBeGreaterThanOrEqual(2_000)
})

describe("an estimate of the server's clock", () => {
  test('is in the middle of what a short way leaves open', async () => {
    expect(await sampled({ there: 4, back: 4 })).toMatchObject({ error: 0 })
    expect(await sampled({ there: 0, back: 8 })).toMatchObject({ error: -4 })
    expect(await sampled({ there: 8, back: 0 })).toMatchObject({ error: 4 })
  })

  test('is hardly behind where a reply was long on its way, for no value may be served past its time', async () => {
    expect(await sampled({ there: 0, back: 2_000 })).toMatchObject({ error: -10 })
    expect(await sampled({ there: 2_000, back: 0 })).toMatchObject({ error: 1_990 })
  })
})
