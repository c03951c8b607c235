import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import { until } from '../../tools/until.mjs'
import type { RedisServer } from './redis-server.ts'

/** What a script may take, in milliseconds, before Redis answers everybody else BUSY. */
const busyAfter = 20

const busyScript = `
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + time[2] / 1000
end
local finish = now() + ARGV[1]
repeat until now() >= finish`

/** Runs a script for so long, meanwhile everybody else is answered BUSY. */
export async function occupy(client: Redis, ms: number): Promise<void> {
  await client.config('SET', 'lua-time-limit', String(busyAfter))
  await client.eval(busyScript, 0, ms)
}

/** Holds all writes back for so long, scripts and messages too; then they are carried out. */
export async function pauseWrites(client: Redis, ms: number): Promise<void> {
  await client.call('CLIENT', 'PAUSE', ms, 'WRITE')
}

/** Lets a server fail to save its data, so that it answers every write with MISCONF; until `letSave`. */
export async function failToSave(server: RedisServer): Promise<void> {
  await rm(dumpOf(server), { force: true })
  // It writes another file, and then cannot put it in the place of this.
  await mkdir(dumpOf(server))
  await server.client.config('SET', 'save', '3600 1')
  await save(server, 'err')
}

/** Undoes it: the next attempt to save succeeds. */
export async function letSave(server: RedisServer): Promise<void> {
  await rm(dumpOf(server), { recursive: true })
  await save(server, 'ok')
  await server.client.config('SET', 'save', '')
}

/** How often a command was refused, since ACL LOG RESET, because its user may not send it. */
export async function refusalsOf(client: Redis, command: string): Promise<number> {
  const entries = (await client.acl('LOG', 128)) as unknown[][]
  return entries.reduce((sum, entry) => {
    const of = (name: string): unknown => entry[entry.indexOf(name) + 1]
    const [object = ''] = String(of('object')).split('|')
    return of('reason') === 'command' && object === command ? sum + Number(of('count')) : sum
  }, 0)
}

async function save({ client }: RedisServer, outcome: 'ok' | 'err'): Promise<void> {
  await client.bgsave()
  await until(`it has tried to save: ${outcome}`, async () => {
    const info = await client.info('persistence')
    return info.includes('rdb_bgsave_in_progress:0\r') && info.includes(`rdb_last_bgsave_status:${outcome}\r`)
  })
}

function dumpOf({ folder }: RedisServer): string {
  return join(folder, 'dump.rdb')
}
