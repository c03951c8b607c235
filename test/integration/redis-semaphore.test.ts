import { afterAll, afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { until } from '../../tools/until.mjs'
import { redisSemaphore } from '../../src/redis/index.ts'
import { Inbox } from '../../src/redis/push/inbox.ts'
import { startRedis } from '../support/servers.ts'

const server = await startRedis()

afterAll(() => server.stop())

afterEach(() => void vi.restoreAllMocks())

/** How many listen for messages, in this process. */
function counted(): { listening: number } {
  const count = { listening: 0 }
  const listen = Object.getOwnPropertyDescriptor(Inbox.prototype, 'listen')?.value as Inbox['listen']
  vi.spyOn(Inbox.prototype, 'listen').mockImplementation(function (this: Inbox, ...args) {
    const leave = listen.apply(this, args)
    count.listening++
    let left = false
    return () => {
      if (!left) count.listening--
      left = true
      leave()
    }
  })
  return count
}

const patient = { permits: 1, commandTimeout: '30s' } as const

test('a permit that Redis refuses leaves no listener behind', async () => {
  await using semaphore = redisSemaphore(server.connect(), patient)
  await semaphore.run('warm-up', () => {})
  const count = counted()
  await server.client.acl('SETUSER', 'default', 'resetkeys')
  onTestFinished(() => void server.client.acl('SETUSER', 'default', 'allkeys'))
  await expect(semaphore.tryAcquire('job')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', reason: 'rights' })
  expect(count.listening).toBe(0)
})

test('a permit that is given back leaves no listener behind, with and without messages', async () => {
  await server.forbid('subscribe')
  onTestFinished(() => server.permit('subscribe'))
  await using semaphore = redisSemaphore(server.connect(), patient)
  const count = counted()
  await semaphore.run('job', () => {})
  expect(count.listening).toBe(0)
  await server.permit('subscribe')
  await using other = redisSemaphore(server.connect(), patient)
  const lease = await until('it listens', () => other.tryAcquire('job'))
  await lease.release()
  expect(count.listening).toBe(0)
})
