import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import type { RedisServer } from '../support/redis-server.ts'
import type { AppProcess } from './app-process.ts'
import { CountingSource } from './counting-source.ts'
import { keeps, type Door } from './doors.ts'

/** How an app is asked behind a door. Its values are texts of the source, under the name that it is asked for. */
export interface DoorOfApp {
  readonly door: Door
  /** Starts a process, with REDIS_URL, NAMESPACE, SOURCE_URL, TTL and GRACE in milliseconds. */
  readonly start: (env: Record<string, string>) => Promise<AppProcess>
  /** The path of a value. */
  readonly path: (id: string) => string
  /** The path that is posted to for its invalidation. */
  readonly change: (id: string) => string
}

/** Runs what every door promises, with three processes of an app on one Redis. */
export function keepsPromises({ door, start, path, change }: DoorOfApp, redis: () => RedisServer): void {
  describe(`three processes behind ${door}`, () => {
    let source: CountingSource
    let fleet: AppProcess[] = []

    beforeEach(() => void (source = new CountingSource()))
    afterEach(async () => {
      await Promise.all(fleet.map((each) => each.stop()))
      source.close()
    })

    async function begin(ttl = '300000'): Promise<void> {
      const given = { REDIS_URL: redis().url, NAMESPACE: randomUUID(), SOURCE_URL: await source.url() }
      fleet = await Promise.all([1, 2, 3].map(() => start({ ...given, TTL: ttl, GRACE: '600000' })))
    }

    /** The name and the number of what a process answers; or that it is gone. */
    async function shown(each: AppProcess, id: string): Promise<string> {
      const answer = await each.answer(path(id)).catch(() => undefined)
      if (answer === undefined) return 'gone'
      const { status, body } = answer
      return status === 200 ? (/[\w-]+#\d+/.exec(body)?.[0] ?? body) : `${status} ${body}`
    }

    /** What many clients are answered at once. */
    const crowd = (id: string): Promise<string>[] => [...fleet, ...fleet, ...fleet].map(async (each) => shown(each, id))

    test('load a missing value once', async () => {
      await begin()
      const release = source.hold()
      const asking = crowd('a')
      await until('one loads', () => source.asked.get('a') === 1)
      release()
      expect(new Set(await Promise.all(asking))).toEqual(new Set(['a#1']))
      expect(source.asked.get('a')).toBe(1)
      keeps(door, 'cold')
    }, 120_000)

    test('answer with the stale value while one loads', async () => {
      await begin('1000')
      expect(await shown(fleet[0] as AppProcess, 'a')).toBe('a#1')
      const release = source.hold()
      const asking: Promise<string>[] = []
      await until('one loads', () => {
        asking.push(...fleet.map(async (each) => shown(each, 'a')))
        return source.asked.get('a') === 2
      })
      expect(new Set(await Promise.all(crowd('a')))).toEqual(new Set(['a#1']))
      expect(source.asked.get('a')).toBe(2)
      release()
      // Behind some doors the one that loads waits for what it loads.
      const others = (await Promise.all(asking)).filter((answer) => answer !== 'a#1')
      expect(others.length).toBeLessThanOrEqual(1)
      keeps(door, 'stale')
    }, 120_000)

    test('have no value any more that one of them has invalidated', async () => {
      await begin()
      for (const times of [1, 2, 3]) {
        expect(new Set(await Promise.all(crowd('a')))).toEqual(new Set([`a#${times}`]))
        const url = `http://127.0.0.1:${fleet[times - 1]?.port}${change('a')}`
        const headers = { 'Content-Type': 'application/json' }
        expect((await fetch(url, { method: 'POST', headers, body: '{}' })).ok).toBe(true)
      }
      keeps(door, 'invalidated')
    }, 120_000)

    test('lose the one that loads: another loads, and all are answered', async () => {
      await begin()
      const [victim, ...others] = fleet as [AppProcess, AppProcess, AppProcess]
      const release = source.hold()
      const gone = shown(victim, 'a')
      await until('one loads', () => source.asked.get('a') === 1)
      const waiting = others.map(async (each) => shown(each, 'a'))
      await victim.stop()
      expect(await gone).toBe('gone')
      release()
      expect(await Promise.all(waiting)).toEqual(['a#2', 'a#2'])
      expect(source.asked.get('a')).toBe(2)
      keeps(door, 'killed')
    }, 120_000)

    test('answer everybody while Redis is frozen', async () => {
      await begin()
      expect(new Set(await Promise.all(crowd('a')))).toEqual(new Set(['a#1']))
      await redis().freeze()
      try {
        for (const id of ['a', 'b']) {
          for (const answer of await Promise.all(crowd(id))) expect(answer).toMatch(new RegExp(`^${id}#\\d+$`))
        }
      } finally {
        redis().thaw()
      }
      keeps(door, 'frozen')
    }, 120_000)
  })
}
