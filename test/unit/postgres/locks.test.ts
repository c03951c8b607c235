import { expect, test } from 'vitest'
import { tokenLength } from '../../../src/core/lease/token.ts'
import type { Database, Row } from '../../../src/postgres/client.ts'
import { PostgresLocks } from '../../../src/postgres/locks.ts'

const request = { name: 'job', token: 't'.repeat(tokenLength), ttl: 10_000, waits: 'no' } as const

/** A database that answers a request for a lock with this error, and what it was asked. */
function failing(error: Error) {
  const queries: string[] = []
  const query = async (text: string): Promise<Row[]> => {
    queries.push(text)
    if (text.includes('herdless_lock_take')) throw error
    return [[true]]
  }
  const database: Database = { query, script: async () => {}, listen: () => ({ end: () => {} }), session: null }
  const locks = new PostgresLocks(database, { schema: undefined, wakeUp: 'poll' })
  return { locks, wasGivenBack: () => queries.some((text) => text.includes('herdless_lock_give_back')) }
}

test('a lock in PostgreSQL whose grant may be lost with the connection is given back', async () => {
  const { locks, wasGivenBack } = failing(Object.assign(new Error('write EPIPE'), { code: 'EPIPE', syscall: 'write' }))
  await expect(locks.take(request)).rejects.toThrow('EPIPE')
  expect(wasGivenBack()).toBe(true)
})

test('a lock in PostgreSQL that the database refused is not given back', async () => {
  const { locks, wasGivenBack } = failing(Object.assign(new Error('denied'), { code: '42501', severity: 'ERROR' }))
  await expect(locks.take(request)).rejects.toThrow('denied')
  expect(wasGivenBack()).toBe(false)
})
