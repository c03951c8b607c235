/** Starts PostgreSQL servers that end with this process, however it ends. */
import { execFile } from 'node:child_process'
import { chmod, chown, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { guardianOfThisProcess } from './guarded-process.mjs'
import { nobody, provisionPostgres } from './provision-postgres.mjs'
import { until } from '../until.mjs'

/**
 * @typedef {{ host: string, port: number, user: string, database: string }} Address in the words of pg
 * @typedef {import('./guarded-process.mjs').GuardedProcess & { address: Address, version: string }} PostgresProcess
 */

/**
 * Starts one server with an empty database; resolves when it answers.
 * @returns {Promise<PostgresProcess>}
 * @throws {Error} if there is none, or it does not come up: the message holds its log
 */
export async function startPostgres() {
  const { bin, env, version } = await provisionPostgres()
  const guardian = guardianOfThisProcess()
  const folder = await guardian.newFolder()
  if (nobody.uid !== undefined) {
    // So that it may come to its own folder.
    await chmod(dirname(folder), 0o711)
    await chown(folder, nobody.uid, nobody.gid)
  }
  const options = { cwd: folder, env: { ...process.env, ...env }, ...nobody }
  const made = ['--pgdata', 'data', '--username', 'postgres', '--auth', 'trust', '--no-sync', '--encoding', 'UTF8']
  await promisify(execFile)(join(bin, 'initdb'), made, options)
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000)
    const settings = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      fsync: 'off',
      max_connections: '200',
    }
    const args = [
      '-D',
      'data',
      '-p',
      String(port),
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ]
    const program = join(bin, 'postgres')
    const server =
      nobody.uid === undefined
        ? await guardian.start(program, args, { folder, env })
        : await guardian.start(
            'setpriv',
            [`--reuid=${nobody.uid}`, `--regid=${nobody.gid}`, '--clear-groups', program, ...args],
            { folder, env },
          )
    const address = { host: '127.0.0.1', port, user: 'postgres', database: 'postgres' }
    let ended = false
    void server.ended.then(() => (ended = true))
    try {
      await until(
        `PostgreSQL answers on port ${port}`,
        async () => ended || (await folderBehind(address)) === join(folder, 'data'),
        20_000,
      )
      if (!ended) return { ...server, address, version }
    } catch (cause) {
      await server.stop()
      throw new Error(`PostgreSQL did not come up. Its log:\n${await readFile(join(folder, 'log'), 'utf8')}`, { cause })
    }
    const log = await readFile(join(folder, 'log'), 'utf8')
    if (!/in use/i.test(log)) throw new Error(`PostgreSQL did not come up. Its log:\n${log}`)
  }
}

/**
 * Where the server at an address has its data: another one may have taken the port just before.
 * @param {Address} address
 */
async function folderBehind(address) {
  const client = new pg.Client(address)
  client.on('error', () => {})
  try {
    await client.connect()
    return (await client.query('SHOW data_directory')).rows[0].data_directory
  } finally {
    await client.end().catch(() => {})
  }
}
