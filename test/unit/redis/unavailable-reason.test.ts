import { describe, expect, test } from 'vitest'
import type { UnavailableReason } from '../../../src/core/errors.ts'
import { reasonOf } from '../../../src/redis/connection/unavailable-reason.ts'

function coded(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}

/** What clients and servers say, word by word. */
const said: Readonly<Record<UnavailableReason, readonly (string | Error)[]>> = {
  password: [
    'WRONGPASS invalid username-password pair or user is disabled.',
    'NOAUTH Authentication required.',
    'NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option',
    'ERR invalid password',
  ],
  rights: [
    "NOPERM User shop has no permissions to run the 'evalsha' command",
    'NOPERM this user has no permissions to run the eval command or its subcommand',
    'NOPERM No permissions to access a key',
    "ERR Could not find scripting engine 'lua'",
    "ERR ACL failure in script: User shop has no permissions to run the 'hset' command script: 1f, on @user_script:3.",
    "ERR Error running script (call to f_1f): @user_script:3: The user executing the script can't run this command or subcommand",
    "ERR unknown command 'evalsha'",
    'ERR unknown command `EVALSHA`, with args beginning with: ',
  ],
  readOnly: [
    "READONLY You can't write against a read only replica.",
    "READONLY You can't write against a read only replica. script: 1f, on @user_script:5.",
    "ERR Error running script (call to f_1f): @user_script:5: -READONLY You can't write against a read only replica.",
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
  ],
  loading: ['LOADING Redis is loading the dataset in memory'],
  full: [
    "OOM command not allowed when used memory > 'maxmemory'.",
    "ERR Error running script (call to f_1f): @user_script:5: -OOM command not allowed when used memory > 'maxmemory'.",
  ],
  unsaved: ['MISCONF Redis is configured to save RDB snapshots, but it is currently unable to persist on disk.'],
  replicas: ['NOREPLICAS Not enough good replicas to write.'],
  clusterDown: ['CLUSTERDOWN Hash slot not served'],
  busy: ['BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.'],
  certificate: [
    coded('SELF_SIGNED_CERT_IN_CHAIN', 'self-signed certificate in certificate chain'),
    coded('DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed certificate'),
    coded('CERT_HAS_EXPIRED', 'certificate has expired'),
    coded('UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'unable to verify the first certificate'),
    coded('UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'unable to get local issuer certificate'),
    coded('ERR_TLS_CERT_ALTNAME_INVALID', "Hostname/IP does not match certificate's altnames: Host: a. is not b"),
  ],
  tls: [
    coded('ERR_SSL_WRONG_VERSION_NUMBER', 'write EPROTO 0A:error:0A00010B:SSL routines:ssl3_get_record'),
    coded('ECONNRESET', 'Client network socket disconnected before secure TLS connection was established'),
    coded('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', '0A:error:0A00045C:SSL routines:ssl3_read_bytes'),
  ],
  refused: [
    coded('ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:6379'),
    'All sentinels are unreachable. Retrying from scratch after 10ms. Last error: connect ECONNREFUSED 127.0.0.1:1',
    'ERR max number of clients reached',
  ],
  unreachable: [
    coded('ENOTFOUND', 'getaddrinfo ENOTFOUND redis.internal'),
    coded('EHOSTUNREACH', 'connect EHOSTUNREACH 10.0.0.1:6379'),
    coded('ENOENT', 'connect ENOENT /run/redis.sock'),
    'All sentinels are unreachable and retry is disabled. Last error: Connection is closed.',
    'All the root nodes are unavailable',
  ],
  timeout: [
    coded('ETIMEDOUT', 'connect ETIMEDOUT'),
    'Command timed out',
    'Connection timeout',
    "Socket timeout timeout. Expecting data, but didn't receive any in 5000ms.",
  ],
  closed: [
    'Connection is closed.',
    coded('ECONNRESET', 'read ECONNRESET'),
    coded('EPIPE', 'write EPIPE'),
    'Command aborted due to connection close',
    "Stream isn't writeable and enableOfflineQueue options is false",
    'Reached the max retries per request limit (which is 20). Refer to "maxRetriesPerRequest" option for details.',
    'Socket closed unexpectedly',
    'The client is closed',
    'The client is offline',
    'Disconnects client',
    'The command was aborted',
  ],
  other: ['WRONGTYPE Operation against a key holding the wrong kind of value', 'Redis returned a value', ''],
}

describe('the reason of an error', () => {
  const each = Object.entries(said).flatMap(([reason, errors]) => errors.map((error) => [reason, error] as const))

  test.for(each)('is %s where a client rejects with %s', ([reason, error]) => {
    expect(reasonOf(typeof error === 'string' ? new Error(error) : error)).toBe(reason)
  })

  test('is that of an inner error where the outer one says nothing', () => {
    const inner = coded('ECONNREFUSED', 'connect ECONNREFUSED ::1:6379')
    expect(reasonOf(Object.assign(new AggregateError([inner], ''), {}))).toBe('refused')
    const ofCluster = Object.assign(new Error('Failed to refresh slots cache.'), {
      lastNodeError: new Error('NOAUTH Authentication required.'),
    })
    expect(reasonOf(ofCluster)).toBe('password')
    expect(reasonOf(Object.assign(new Error('enough'), { socketError: inner }))).toBe('refused')
  })

  test('is found by words that stand where Redis puts them, and not anywhere', () => {
    expect(reasonOf(new Error('ERR no such thing as OOM'))).toBe('other')
    expect(reasonOf(new Error('BUSYKEY Target key name already exists.'))).toBe('other')
  })

  test('is had of anything that may be thrown', () => {
    const circular: { lastNodeError?: unknown } = {}
    circular.lastNodeError = circular
    const unfit = [undefined, null, 'Connection is closed.', 0, Symbol('s'), circular, { errors: [] }]
    expect(unfit.map((thrown) => reasonOf(thrown))).toEqual(['other', 'other', 'closed', ...Array(4).fill('other')])
  })
})
