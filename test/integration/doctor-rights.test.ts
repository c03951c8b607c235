import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { lockNeeds, needs } from '../../src/cli/doctor/checks/needs.ts'
import { allow as allowOn, ruleOn } from '../docs/acl.ts'
import { doc } from '../docs/markdown.ts'
import { clientLibrary } from '../support/node-redis.ts'
import { startRedis, type RedisServer } from '../support/servers.ts'
import { examined, herdless, of } from './doctor.ts'

const page = doc('docs/redis.md')

/** The words of a rule on the page, after the name of the user. */
function rule(name: 'push' | 'poll'): string[] {
  return ruleOn('docs/redis.md', name).slice(1)
}

const onNodeRedis = clientLibrary === 'node-redis'
const ruleOfPush = rule('push')
/** What the page adds for this library, in the place that the doctor has it. */
const push = onNodeRedis ? [...ruleOfPush, '+ping'] : ruleOfPush
const commands = onNodeRedis ? 21 : 20
const patterns = ['on', '>secret', '~{shop:*', '&herdless:inbox:*']
const dispensable = ['+script|load', '+info']

describe('the list of rights in the source', () => {
  const list = needs('', '')

  test('is that of the rules on the page', () => {
    const words = (...where: string[]): string[] =>
      list.filter((need) => where.includes(need.where)).map(({ word }) => word)
    expect(words('everywhere', 'push')).toEqual(ruleOfPush.filter((word) => !patterns.includes(word)))
    expect(words('everywhere')).toEqual(rule('poll').filter((word) => !patterns.includes(word)))
    expect(patterns.filter((word) => !ruleOfPush.includes(word))).toEqual([])
  })

  test('has what the page adds for node-redis', () => {
    const added = list.filter(({ where }) => where === 'push on node-redis').map(({ word }) => `\`${word}\``)
    expect(page.text).toContain(`node-redis does not need it; with push it needs ${added.join(', ')}.`)
  })

  test('has what the page adds for a cluster and for a database', () => {
    const setups = ['push on a cluster', 'cluster', 'database']
    const added = list.filter(({ where }) => setups.includes(where)).map(({ word }) => word)
    const [, line = ''] = /^- (A client that selects a database .*)$/m.exec(page.text) ?? []
    const named = [...line.matchAll(/`(\+[^`]+)`/g)].map(([, word]) => word)
    expect(new Set(named)).toEqual(new Set(added))
  })
})

test('the list of rights for locks in the source is that of their page', () => {
  const [_user, _on, _password, ...words] = ruleOn('docs/locks.md', 'lock')
  const list = lockNeeds('job', '')
  const keys = new Set(list.flatMap((need) => need.keys ?? []))
  expect([...keys, '&herdless:inbox:*', ...list.map(({ word }) => word)]).toEqual(words)
})

describe('the rights of a user', () => {
  let server: RedisServer
  const login = (): string => `redis://shop:secret@127.0.0.1:${server.port}`

  beforeAll(async () => {
    server = await startRedis({ args: ['--maxmemory', '64mb', '--maxmemory-policy', 'allkeys-lru'] })
  })

  afterAll(async () => {
    await server?.stop()
  })

  const allow = (words: readonly string[]): Promise<void> => allowOn(server, ['shop', ...words])

  test('are enough by the rule of the page, of which nothing else can be seen', async () => {
    await allow(push)
    const { code, told } = await examined(login(), '--namespace', 'shop')
    expect(code).toBe(0)
    expect(of(told, 'rights')).toMatchObject([
      { level: 'ok', what: `User shop has all rights: ${commands} commands, the keys and the channel` },
    ])
    expect(of(told, 'server')).toMatchObject([{ level: 'ok', what: expect.stringMatching(/^Redis \d/) }])
    expect(of(told, 'view')).toMatchObject([{ level: 'note', what: expect.stringMatching(/CONFIG \(NOPERM/) }])
    expect(of(told, 'slow commands')).toMatchObject([{ level: 'note' }])
    expect(await server.client.keys('*')).toEqual([])
  })

  test('are examined where INFO is forbidden too', async () => {
    await allow(push.filter((word) => word !== '+info'))
    const { code, told } = await examined(login(), '--namespace', 'shop')
    expect(code).toBe(0)
    expect(of(told, 'server')).toMatchObject([{ level: 'ok', what: expect.stringMatching(/^Redis \d+\.\d+\.\d+$/) }])
    for (const check of ['memory', 'persistence', 'replicas', 'connections']) {
      expect(of(told, check)).toMatchObject([{ level: 'note', what: expect.stringMatching(/^Not allowed to look/) }])
    }
  })

  test.for(push.filter((word) => !['on', '>secret'].includes(word)))('are named where %s is missing', async (word) => {
    await allow(push.filter((other) => other !== word))
    const { code, told } = await examined(login(), '--namespace', 'shop')
    const level = dispensable.includes(word) ? 'warning' : 'problem'
    expect(of(told, 'rights')).toMatchObject([
      { level, what: `User shop has no right to ${word}`, todo: expect.stringContaining(`ACL SETUSER shop ${word}.`) },
    ])
    expect(code).toBe(level === 'problem' ? 1 : 0)
    // A script that must stop half-way would leave a lease behind, and one without an expiry.
    expect(await server.client.keys('*')).toEqual([])
  })

  test('are named together where several are missing', async () => {
    await allow(push.filter((word) => !['+hset', '+set', '+del', '+pexpire', '+publish'].includes(word)))
    const { told } = await examined(login(), '--namespace', 'shop')
    expect(of(told, 'rights')[0]?.what).toBe('User shop has no right to +set +del +hset +pexpire +publish')
    expect(await server.client.keys('*')).toEqual([])
  })

  test('for messages are not asked for by a store that polls', async () => {
    await allow(rule('poll'))
    expect((await examined(login(), '--namespace', 'shop')).code).toBe(1)
    const { code, told } = await examined(login(), '--namespace', 'shop', '--wake-up', 'poll')
    expect(of(told, 'rights')).toMatchObject([
      { level: 'ok', what: 'User shop has all rights: 16 commands and the keys' },
    ])
    expect(code).toBe(0)
  })

  test('for locks are examined beside, and no problem where they are missing', async () => {
    await allow(['on', '>secret', '~*', '&*', '+@all'])
    const whole = await examined(login(), '--namespace', 'shop')
    expect(of(whole.told, 'locks')).toMatchObject([
      { level: 'ok', what: 'User shop may use locks with the prefix lock:' },
    ])
    await allow(push)
    const { code, told } = await examined(login(), '--namespace', 'shop')
    expect(code).toBe(0)
    const words = '~lock:* ~{lock:* +zadd +zrem +zrange +zscore +zrangebyscore +zremrangebyscore'
    expect(of(told, 'locks')).toMatchObject([
      {
        level: 'note',
        what: `For locks: User shop has no right to ${words}`,
        todo: `ACL SETUSER shop ${words}. Only an application with redisLock needs it.`,
      },
    ])
    const lookedUp = await examined(server.url, '--namespace', 'shop', '--acl-user', 'shop')
    expect(of(lookedUp.told, 'locks')).toMatchObject([
      { level: 'note', what: `For locks: User shop has no right to ${words}` },
    ])
    await allow(['on', '>secret', '~*', '&*', '+@all', '-publish'])
    expect(of((await examined(login(), '--namespace', 'shop')).told, 'locks')).toMatchObject([
      { level: 'note', what: 'For locks: User shop has no right to +publish' },
    ])
    await allow([...push, ...words.split(' ')])
    expect(of((await examined(login(), '--namespace', 'shop')).told, 'locks')).toMatchObject([{ level: 'ok' }])
    expect(await server.client.keys('*')).toEqual([])
  })

  test('to another database are needed where the URL names one', async () => {
    await allow([...push, '+select'])
    expect(of((await examined(`${login()}/3`, '--namespace', 'shop')).told, 'rights')).toMatchObject([
      { level: 'ok', what: expect.stringContaining(`${commands + 1} commands`) },
    ])
  })

  // A client that went on would examine database 0.
  test('to another database are why nobody can be asked', async () => {
    await allow(push)
    const { code, err } = await herdless(['doctor', `${login()}/3`])
    expect(err).toMatch(/The store forbids a command: NOPERM .*select/i)
    expect(code).toBe(2)
  })

  test('of another user are looked up by an administrator', async () => {
    await allow(push)
    const whole = await examined(server.url, '--namespace', 'shop', '--acl-user', 'shop')
    expect(of(whole.told, 'rights')).toMatchObject([{ level: 'ok', what: expect.stringMatching(/^User shop has all/) }])
    for (const word of ['+hget', '~{shop:*', '&herdless:inbox:*', '+script|load', '+pubsub|numsub']) {
      await allow(push.filter((other) => other !== word))
      const { told } = await examined(server.url, '--namespace', 'shop', '--acl-user', 'shop')
      expect(of(told, 'rights')[0]?.what).toBe(`User shop has no right to ${word}`)
    }
    const unknown = await examined(server.url, '--acl-user', 'nobody')
    expect(of(unknown.told, 'rights')).toMatchObject([
      { level: 'problem', what: expect.stringContaining(`User 'nobody' not found`) },
    ])
  })

  test('do not help where the server has no such command', async () => {
    await using other = await startRedis({ args: ['--rename-command', 'PEXPIRE', ''] })
    const { told } = await examined(other.url)
    expect(of(told, 'rights')).toMatchObject([{ level: 'problem', what: 'The server has no PEXPIRE' }])
  })

  test('are not said with the password of a server whose AUTH was renamed', async () => {
    const renamed = ['--rename-command', 'AUTH', 'LOGIN', '--rename-command', 'HELLO', '']
    await using other = await startRedis({ args: renamed })
    const { code, err } = await herdless(['doctor', `redis://:geheim@127.0.0.1:${other.port}`])
    expect(err).toMatch(/ERR unknown command 'auth', with args beginning with: '\*\*\*'/i)
    expect(code).toBe(2)
  })
})
