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
 * @param {{ cwd?: string, env?: Record<string, string> }} [options]
 * @throws {Error} if it cannot be started, or ends with anything but 0
 */
export async function command(name, args = [], { cwd = checkout, env = {} } = {}) {
  const path = [join(checkout, 'node_modules/.bin'), process.env['PATH']].join(delimiter)
  const child = spawn(name, args, {
    cwd,
    env: { ...process.env, PATH: path, ...env },
    stdio: 'inherit',
    // On Windows, npm and its like are scripts, which only a shell can start.
    shell: process.platform === 'win32',
  })
  const [code, signal] = await once(child, 'exit')
  if (code !== 0) throw new Error(`${[name, ...args].join(' ')} ended with ${signal ?? code}`)
}
