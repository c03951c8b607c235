import { strict as assert } from 'node:assert'
import type { PermitAnswer, PermitReport, Permits } from '../../core/contract/permits.ts'
import type { Store } from '../../core/contract/store.ts'
import type { ContractTest, Scene } from './scene.ts'

/** One that loads from a source: its reports, and how often it was told that there is news. */
class User {
  told = 0
  readonly #permits: Permits
  readonly #usual: PermitReport
  #seq = 0

  constructor(scene: Scene, store: Store, usual: Pick<PermitReport, 'source'> & Partial<PermitReport>) {
    assert(store.permits !== undefined, 'the store has permits')
    this.#permits = store.permits
    this.#usual = {
      who: scene.token(),
      seq: 0,
      held: 0,
      wants: 0,
      urgency: 0,
      concurrency: 3,
      rate: null,
      ttl: 60_000,
      keep: 0,
      known: 0,
      ...usual,
    }
  }

  async report(says: Partial<PermitReport>): Promise<PermitAnswer> {
    return await this.#permits.report({ ...this.#usual, seq: ++this.#seq, ...says }, () => this.told++)
  }

  async granted(says: Partial<PermitReport>): Promise<number> {
    return (await this.report(says)).granted
  }
}

function users(scene: Scene, usual: Partial<PermitReport> = {}): readonly [User, User, User] {
  const source = scene.key('source')
  const user = (store: Store): User => new User(scene, store, { source, ...usual })
  return [user(scene.a), user(scene.b), user(scene.b)]
}

/** The permits of sources. */
export const permits: readonly ContractTest[] = [
  {
    title: 'a renewal says whether an urgent claim waits for the lease, and that of the next lease does not',
    async run(scene) {
      const key = scene.key()
      const lease = await scene.lease(scene.a, key)
      await scene.wait(scene.b, key)
      assert.deepEqual(await Promise.all(scene.a.renew([lease])), [true])
      await scene.wait(scene.b, key, { urgent: true })
      assert.deepEqual(await Promise.all(scene.a.renew([lease])), ['urgent'])
      assert.equal(await scene.a.release(lease), true)
      const next = await scene.lease(scene.a, key, { urgent: true })
      assert.deepEqual(await Promise.all(scene.a.renew([next])), [true])
    },
  },
  {
    title: 'no more permits of a source are granted than it has, and those that are given back are granted again',
    async run(scene) {
      const [one, two, three] = users(scene)
      assert.equal(await one.granted({ wants: 2 }), 2)
      assert.equal(await two.granted({ wants: 2 }), 1)
      assert.equal(await three.granted({ wants: 1 }), 0)
      assert.equal(await one.granted({ held: 1 }), 0)
      assert.equal((await three.granted({ wants: 1 })) + (await two.granted({ held: 1, wants: 1 })), 1)
    },
  },
  {
    title: 'those who wait are told that there is room for them, in the order in which they asked',
    async run(scene) {
      const [one, two, three] = users(scene)
      await one.report({ wants: 3 })
      const { pushed } = await two.report({ wants: 1 })
      await three.report({ wants: 1 })
      await one.report({ held: 2 })
      if (pushed) await scene.until('the first that waits is told', async () => two.told > 0 || undefined)
      assert.equal(three.told, 0)
      assert.equal(await three.granted({ wants: 1 }), 0)
      assert.equal(await two.granted({ wants: 1 }), 1)
    },
  },
  {
    title: 'the more urgent go first, whenever they asked',
    async run(scene) {
      const [one, two, three] = users(scene)
      await one.report({ wants: 3 })
      await two.report({ wants: 2, urgency: 1 })
      await three.report({ wants: 2, urgency: 0 })
      await one.report({ held: 1 })
      const { granted, waiting } = await two.report({ wants: 2, urgency: 1 })
      assert.deepEqual([granted, waiting], [0, { users: 1, permits: 2 }])
      assert.equal(await three.granted({ wants: 2, urgency: 0 }), 2)
    },
  },
  {
    title: 'the less urgent are not told of room that is set aside for the more urgent',
    async run(scene) {
      const [one, two, three] = users(scene)
      await one.report({ wants: 3 })
      await two.report({ wants: 3, urgency: 0 })
      await three.report({ wants: 1, urgency: 1 })
      const { pushed } = await one.report({ held: 0 })
      if (pushed) await scene.until('the more urgent is told', async () => two.told > 0 || undefined)
      assert.equal(three.told, 0)
      assert.equal(await three.granted({ wants: 1, urgency: 1 }), 0)
    },
  },
  {
    title: 'among those that wait none is granted more than its share, and who holds more is told',
    async run(scene) {
      const [one, two] = users(scene, { concurrency: 4 })
      assert.equal(await one.granted({ wants: 9 }), 4)
      const { pushed, waiting } = await two.report({ wants: 9 })
      assert.equal(waiting.users, 1)
      if (pushed) await scene.until('the other is told', async () => one.told > 0 || undefined)
      assert.equal(await one.granted({ held: 3, wants: 9 }), 0)
      assert.equal(await two.granted({ wants: 9 }), 1)
      assert.equal(await one.granted({ held: 2, wants: 9 }), 0)
      assert.equal(await two.granted({ held: 1, wants: 9 }), 1)
      assert.equal(await one.granted({ held: 1, wants: 9 }), 1)
    },
  },
  {
    title: 'an older report of permits changes nothing, and one that is sent again is answered as the first time',
    async run(scene) {
      const [one, two] = users(scene)
      assert.equal(await one.granted({ wants: 2, seq: 5 }), 2)
      assert.equal(await one.granted({ wants: 2, seq: 5 }), 2)
      assert.equal(await one.granted({ held: 0, seq: 4 }), 0)
      assert.equal(await two.granted({ wants: 3 }), 1)
    },
  },
  {
    title: 'the smallest limit that any user names counts for all',
    async run(scene) {
      const [one, two, three] = users(scene)
      const { concurrency } = await one.report({ wants: 1, concurrency: 2 })
      assert.equal(concurrency, 2)
      const second = await two.report({ wants: 3, concurrency: 50 })
      assert.deepEqual([second.granted, second.concurrency], [1, 2])
      await one.report({ held: 0, concurrency: 2 })
      await two.report({ held: 1, concurrency: 50 })
      assert.equal(await three.granted({ wants: 60, concurrency: null }), 50 - 1)
    },
  },
  {
    title: 'permits without another report are free again when their ttl is over',
    async run(scene) {
      const [one, two] = users(scene)
      await one.report({ wants: 3, ttl: 40 })
      await scene.until('they are free', async () => (await two.granted({ wants: 3 })) === 3 || undefined)
    },
  },
  {
    title: 'a user holds what it says it holds, above the limit, if the store has let that go; a strict one does not',
    async run(scene) {
      const [one, two, three] = users(scene)
      assert.equal(await two.granted({ wants: 3 }), 3)
      const { holds } = await one.report({ held: 2 })
      assert.equal(holds, true)
      assert.equal(await two.granted({ held: 1, wants: 2 }), 0)
      const lost = await three.report({ held: 1, strict: true })
      assert.equal(lost.holds, false)
      await one.report({ held: 0 })
      assert.equal(await two.granted({ held: 1, wants: 3 }), 2)
    },
  },
  {
    title: 'no more permits are granted within a window than the rate of a source says',
    async run(scene) {
      const [one, two] = users(scene, { concurrency: null, rate: { loads: 5, per: 600_000 } })
      assert.equal(await one.granted({ wants: 3 }), 3)
      const { granted, again } = await two.report({ wants: 9 })
      assert.equal(granted, 2)
      const next = await one.report({ wants: 1 })
      assert.equal(next.granted, 0)
      for (const wait of [again, next.again]) assert(wait === null || wait > 0, 'and says when to ask again')
    },
  },
  {
    title: 'the rates that users name hold for all, each within its own time',
    async run(scene) {
      const [one, two, three] = users(scene, { concurrency: null })
      const long = { loads: 6, per: 600_000 }
      const less = { loads: 5, per: 600_000 }
      const short = { loads: 5, per: 1 }
      await three.report({ rate: short, keep: 60_000 })
      assert.equal(await one.granted({ wants: 3, rate: long }), 3)
      assert.equal(await two.granted({ wants: 3, rate: less }), 2)
      await two.report({ held: 2, rate: less })
      assert.equal(await one.granted({ held: 3, wants: 1, rate: long }), 0)
      await two.report({ held: 0, rate: less })
      await one.report({ held: 3, rate: long })
      await scene.until('the short time is over', async () => {
        return (await three.granted({ wants: 4, rate: short })) === 1 || undefined
      })
      assert.equal(await one.granted({ held: 3, wants: 1, rate: long }), 0)
      assert.equal(await two.granted({ wants: 1, rate: null }), 0)
    },
  },
  {
    title: 'a store that has forgotten the users of a source grants each its share at first',
    async run(scene) {
      const [one, two] = users(scene, { concurrency: 4 })
      const { granted, again } = await one.report({ wants: 4, known: 2 })
      assert.equal(granted, 2)
      assert(again !== null && again > 0, 'and says when to ask again')
      assert.equal((await two.report({ held: 4 })).holds, true)
      assert.equal(await one.granted({ held: 2, wants: 2, known: 2 }), 0)
    },
  },
]
