import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { unpackInto } from '../../tools/pack.mjs'
import { startRedis, type RedisServer } from '../support/redis-server.ts'
import { AppProcess } from './app-process.ts'
import { CountingSource } from './counting-source.ts'
import { apps } from './given-package.ts'
import { codeOfPage } from './page-code.ts'
import { keepsPromises } from './promises.ts'

let redis: RedisServer

beforeAll(async () => {
  await unpackInto(join(apps, 'h3'))
  await writeFile(join(apps, 'h3/cached.mjs'), await codeOfPage('H3'))
  redis = await startRedis()
}, 300_000)
afterAll(async () => redis?.stop())

test('H3 shares no answer that depends on what middleware has found, or is private by a field of event.res', async () => {
  const source = new CountingSource()
  const given = { REDIS_URL: redis.url, NAMESPACE: randomUUID(), SOURCE_URL: await source.url() }
  const each = await AppProcess.start('h3/server.mjs', given)
  try {
    const asked = [
      ['/mine', 'ann'],
      ['/mine', 'bob'],
      ['/private', 'ann'],
      ['/private', 'bob'],
    ] as const
    const answers: unknown[] = []
    for (const [path, user] of asked) {
      const { body, headers } = await each.answer(path, { 'x-user': user })
      answers.push([body, /detail=(.*)/.exec(String(headers['cache-status']))?.[1]])
    }
    expect(answers).toEqual([
      ['ann: mine#1', 'undeclared:context.user'],
      ['bob: mine#2', 'pass'],
      ['private#1', 'private'],
      ['private#2', 'pass'],
    ])
  } finally {
    await each.stop()
    source.close()
  }
}, 60_000)

const behind = {
  door: 'H3',
  start: async (env: Record<string, string>) => AppProcess.start('h3/server.mjs', env),
  path: (id: string) => `/value/${id}`,
  change: (id: string) => `/change/${id}`,
} as const
keepsPromises(behind, () => redis)
