import { lockKeys } from '../../../redis/locks/lock-keys.ts'
import { leaseKey, valueKey } from '../../../redis/values/keys.ts'

/**
 * A right that the library needs, and a call that the server refuses without it. With it, the call changes nothing: it
 * is about a key that does not exist, or has an extra argument, which the server checks only after the rights.
 */
export interface Need {
  /** The term of an ACL rule: `+get`. */
  readonly word: string
  readonly call: readonly [command: string, ...args: string[]]
  /** The setups that need it. */
  readonly where: 'everywhere' | 'push' | 'push on node-redis' | 'push on a cluster' | 'cluster' | 'database'
  /** The term of an ACL rule for its keys, if they are not those of the cache. */
  readonly keys?: string
  /** Whether the library can do without it, with a loss. */
  readonly dispensable?: boolean
}

/** The channel of one process. */
export function inboxOf(token: string): string {
  return `herdless:inbox:${token}`
}

/**
 * The rights that the library needs, as in docs/redis.md: the terms of its ACL rule, in order, without the two
 * patterns.
 */
export function needs(key: string, channel: string): readonly Need[] {
  const value = valueKey(key)
  const lease = leaseKey(key)
  const text = 'return 1'
  const everywhere = 'everywhere'
  return [
    { word: '+get', call: ['GET', value], where: everywhere },
    { word: '+mget', call: ['MGET', value], where: everywhere },
    { word: '+set', call: ['SET', value, '', 'herdless'], where: everywhere },
    { word: '+del', call: ['DEL', value], where: everywhere },
    { word: '+getrange', call: ['GETRANGE', value, '0', '0'], where: everywhere },
    // For near copies.
    { word: '+hget', call: ['HGET', lease, 'state'], where: 'push' },
    { word: '+hmget', call: ['HMGET', lease, 'state'], where: everywhere },
    { word: '+hset', call: ['HSET', lease, 'state', '', 'herdless'], where: everywhere },
    { word: '+hdel', call: ['HDEL', lease, 'state'], where: everywhere },
    { word: '+hkeys', call: ['HKEYS', lease], where: everywhere },
    { word: '+pttl', call: ['PTTL', lease], where: everywhere },
    { word: '+pexpire', call: ['PEXPIRE', lease, '1'], where: everywhere },
    { word: '+time', call: ['TIME'], where: everywhere },
    { word: '+evalsha', call: ['EVALSHA', '0'.repeat(40), '0'], where: everywhere },
    { word: '+eval', call: ['EVAL', text, '0'], where: everywhere },
    { word: '+script|load', call: ['SCRIPT', 'LOAD', text], where: everywhere, dispensable: true },
    { word: '+publish', call: ['PUBLISH', channel, ''], where: 'push' },
    { word: '+subscribe', call: ['SUBSCRIBE', channel], where: 'push' },
    { word: '+pubsub|numsub', call: ['PUBSUB', 'NUMSUB', channel], where: 'push' },
    { word: '+info', call: ['INFO', 'server'], where: everywhere, dispensable: true },
    // The connection for messages is checked with it.
    { word: '+ping', call: ['PING'], where: 'push on node-redis' },
    // By it a node knows which leases it may judge.
    { word: '+cluster|myid', call: ['CLUSTER', 'MYID'], where: 'push on a cluster', dispensable: true },
    { word: '+cluster|slots', call: ['CLUSTER', 'SLOTS'], where: 'cluster' },
    { word: '+cluster|info', call: ['CLUSTER', 'INFO'], where: 'cluster' },
    { word: '+client|setname', call: ['CLIENT', 'SETNAME', 'herdless-doctor'], where: 'cluster', dispensable: true },
    { word: '+select', call: ['SELECT', '0'], where: 'database' },
  ]
}

/** The rights that locks need, as in docs/locks.md: the terms of its ACL rule, in order, without the patterns. */
export function lockNeeds(name: string, channel: string): readonly Need[] {
  const { lock, queue } = lockKeys(`lock:${name}`)
  const text = 'return 1'
  const ofLock = { where: 'everywhere', keys: '~lock:*' } as const
  const ofQueue = { where: 'everywhere', keys: '~{lock:*' } as const
  return [
    { word: '+get', call: ['GET', lock], ...ofLock },
    { word: '+set', call: ['SET', lock, '', 'herdless'], ...ofLock },
    // A command that all users of a cache may send, so that the right to the key shows.
    { word: '+del', call: ['DEL', queue], ...ofQueue },
    { word: '+pttl', call: ['PTTL', lock], ...ofLock },
    { word: '+pexpire', call: ['PEXPIRE', lock, '1'], ...ofLock },
    { word: '+time', call: ['TIME'], where: 'everywhere' },
    { word: '+zadd', call: ['ZADD', queue, 'herdless', ''], ...ofQueue },
    { word: '+zrem', call: ['ZREM', queue, ''], ...ofQueue },
    { word: '+zrange', call: ['ZRANGE', queue, '0', '0'], ...ofQueue },
    { word: '+zscore', call: ['ZSCORE', queue, ''], ...ofQueue },
    { word: '+zrangebyscore', call: ['ZRANGEBYSCORE', queue, '0', '0'], ...ofQueue },
    { word: '+zremrangebyscore', call: ['ZREMRANGEBYSCORE', queue, '0', '0'], ...ofQueue },
    { word: '+evalsha', call: ['EVALSHA', '0'.repeat(40), '0'], where: 'everywhere' },
    { word: '+eval', call: ['EVAL', text, '0'], where: 'everywhere' },
    { word: '+script|load', call: ['SCRIPT', 'LOAD', text], where: 'everywhere', dispensable: true },
    { word: '+publish', call: ['PUBLISH', channel, ''], where: 'push' },
    { word: '+subscribe', call: ['SUBSCRIBE', channel], where: 'push' },
    { word: '+pubsub|numsub', call: ['PUBSUB', 'NUMSUB', channel], where: 'push' },
    { word: '+info', call: ['INFO', 'server'], where: 'everywhere', dispensable: true },
  ]
}
