import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the checkout, where commands run unless told otherwise. */
export const checkout = fileURLToPath(new URL('..', import.meta.url))

/**
 * Runs a command, such as a development dependency's, and shows what it prints.
 * @param {string} name
 * @param {string[]} [args]
 * @param {{ cwd?: string, env?: Record<string, string>, isBeside?: boolean }} [options] `isBeside`: another command runs at the
 *   same time, so what this one prints is shown when it has ended
 * @throws {Error} if it cannot be started, or ends with anything but 0
 */
export async function command(name, args = [], { cwd = checkout, env = {}, isBeside = false } = {}) {
  const path = [join(checkout, 'node_modules/.bin'), process.env['PATH']].join(delimiter)
  const child = spawn(name, args, {
    cwd,
    env: { ...process.env, PATH: path, ...env },
    stdio: isBeside ? ['inherit', 'pipe', 'pipe'] : 'inherit',
    // On Windows, npm and its like are scripts, which only a shell can start.
    shell: process.platform === 'win32',
  })
  /** @type {Buffer[]} */
  const printed = []
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (bytes) => printed.push(bytes))
  const [code, signal] = await once(child, 'close')
  process.stdout.write(Buffer.concat(printed))
  if (code !== 0) throw new Error(`${[name, ...args].join(' ')} ended with ${signal ?? code}`)
}
