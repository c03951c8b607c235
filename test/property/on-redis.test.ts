import { randomInt, randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, expect, inject, test } from 'vitest'
import { planOf } from '../../src/core/options/plan.ts'
import { createCache, type CacheOptions } from '../../src/index.ts'
import { redisStore, type RedisStoreOptions } from '../../src/redis/index.ts'
import { Random } from '../../src/testing/virtual-fleet/random.ts'
import { Player, type Member } from '../simulation/player.ts'
import { operationsOf, someSoft } from '../simulation/schedule.ts'
import { History } from '../support/history.ts'
import { violations } from '../support/invariants.ts'

const runs = 25
const processes = 3

const kinds: readonly (RedisStoreOptions & CacheOptions)[] = [
  { wakeUp: 'push', ttl: 50, grace: '1m', failureCooldown: 20 },
  { wakeUp: 'push', softTimeout: 10, grace: '1m', ttl: 20, failureCooldown: 0 },
  { wakeUp: 'poll', ttl: 20, failureCooldown: 20, unstorable: 'throw' },
]

/** What a caller's own options or loader can lead to, without a fault. */
const errors = ['LEFT', 'NOTHING', 'VALUE_NOT_SERIALIZABLE', 'WAIT_TIMEOUT']

const clients: Redis[] = []
const opened: Fleet[] = []

afterAll(async () => {
  await Promise.all(opened.flatMap(({ members }) => members.map(({ cache }) => cache.close())))
  for (const client of clients) client.disconnect()
})

interface Fleet {
  readonly options: CacheOptions
  readonly members: readonly Member[]
}

/** Processes, as it were, each with a client of its own. */
function fleet({ wakeUp, ...rest }: RedisStoreOptions & CacheOptions): Fleet {
  // A machine that is busy for a while is no fault.
  const options: CacheOptions = { ...rest, commandTimeout: '60s', leaseTtl: '60s' }
  const members = Array.from({ length: processes }, (_, index) => {
    const client = new Redis(inject('redisUrl'))
    clients.push(client)
    const store = redisStore(client, wakeUp === undefined ? {} : { wakeUp })
    return { number: index + 1, cache: createCache({ ...options, store }), pause: (ms: number) => pause(ms) }
  })
  opened.push({ options, members })
  return { options, members }
}

test('what the simulated fleet keeps is kept on Redis too: no old value after a write, one load, an answer for everybody', async () => {
  const fleets = kinds.map(fleet)
  // Another one each time: what is found depends on the moment, so the same seed need not find it again.
  const first = randomInt(1_000_000)
  for (let seed = first; seed < first + runs; seed++) {
    const random = new Random(seed, 'redis')
    const { options, members } = random.pick(...fleets)
    const prefix = randomUUID()
    const keys = [`${prefix}:k`, `${prefix}:l`]
    const tagged = random.percent(50)
    const scene = { processes, keys, length: 250, longest: 100, circles: false, hangs: false, closes: false, tagged }
    const operations = someSoft(operationsOf(random, scene, random.between(3, 40)), random)
    const asking: Promise<unknown>[] = []
    const player = new Player({
      now: () => performance.now(),
      plan: planOf(options),
      tagged,
      present: () => members.map((member) => ({ member, ask: (run) => void asking.push(run()) })),
    })
    await Promise.all(
      operations.map(async (operation) => {
        await pause(operation.at)
        await player.perform(operation, members[operation.process - 1] as Member)
      }),
    )
    await Promise.all(asking)
    // A load in the background, whose caller was served the old value, may itself be asking.
    const open = (): number => members.reduce((sum, { number }) => sum + player.open(number), 0)
    const which = JSON.stringify({ seed, tagged, options, operations })
    await expect.poll(open, { message: which, timeout: 60_000 }).toBe(0)
    // How soon somebody is answered is judged on virtual time: here a busy machine would be.
    const wrong = violations(new History(player.happenings), { errors, unleasedAtOnce: Infinity, late: 60_000 })
    expect(wrong, `In ${which}`).toEqual([])
  }
})
