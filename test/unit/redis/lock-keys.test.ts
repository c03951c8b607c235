import { expect, test } from 'vitest'
import { lockKey, lockKeys } from '../../../src/redis/locks/lock-keys.ts'

/** What Redis hashes of a key, by the rule of its cluster specification. */
function hashed(key: string): string {
  const open = key.indexOf('{')
  const close = open === -1 ? -1 : key.indexOf('}', open + 1)
  return close > open + 1 ? key.slice(open + 1, close) : key
}

const names = ['job', 'a}b', '{a', '{}', '{}x', '{}{a}', '{a}b', 'x{a}y', 'a%7Db', '{{a}}', '}', '{}}', '键', ' ']

test.for(names)('the keys of the lock %j are in one slot of a cluster', (name) => {
  const tags = Object.values<string>({ ...lockKeys(`lock:${name}`) }).map(hashed)
  expect(new Set(tags)).toEqual(new Set([tags[0]]))
})

test('the key of a lock is its name, and no two names have the same', () => {
  expect(lockKey('lock:job')).toBe('lock:job')
  expect(lockKey('lock:{user}:1')).toBe('lock:{user}:1')
  expect(new Set(names.map((name) => lockKey(name))).size).toBe(names.length)
})
