import { afterAll, beforeAll } from 'vitest'
import { startRedis, type RedisServer } from '../support/redis-server.ts'
import { AppProcess } from './app-process.ts'
import { doors, type Door } from './doors.ts'
import { keepsPromises } from './promises.ts'

let redis: RedisServer

beforeAll(async () => void (redis = await startRedis()))
afterAll(async () => redis?.stop())

for (const [door, suite] of Object.entries(doors) as [Door, string][]) {
  if (suite !== 'doors') continue
  const app = {
    door,
    start: async (env: Record<string, string>) => AppProcess.start('doors/server.mjs', { ...env, DOOR: door }),
    path: (id: string) => `/value/${id}`,
    change: (id: string) => `/change/${id}`,
  }
  keepsPromises(app, () => redis)
}
