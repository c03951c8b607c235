/**
 * The parent of every server that a test, the lab or a script starts. It has a session of its own, so Ctrl-C does not
 * reach it, and it outlives its starter by one event: when the channel between them closes, for whatever reason, it
 * kills the servers, removes their folder (its one argument) and ends. Only guarded-process.mjs speaks to it.
 *
 * @typedef {{ id: number, command: string, args: string[], env: Record<string, string>, folder: string }} Start
 * @typedef {{ word: 'started', id: number, pid: number }} Started
 * @typedef {{ word: 'failed', id: number, message: string }} Failed
 * @typedef {{ word: 'ended', id: number }} Ended
 * @typedef {Started | Failed | Ended} Answer
 */
import { spawn } from 'node:child_process'
import { closeSync, openSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const folderOfAll = /** @type {string} */ (process.argv[2])
/** @type {Set<import('node:child_process').ChildProcess>} */
const servers = new Set()

process.once('disconnect', () => {
  for (const { pid } of servers) if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  endIfAbandoned()
})
// Its starter may have ended while this file was loaded: that event has been before anybody could hear it.
if (process.connected) process.on('message', (/** @type {Start} */ request) => start(request))
else endIfAbandoned()

/** @param {Start} request */
function start({ id, command, args, env, folder }) {
  const log = openSync(join(folder, 'log'), 'a')
  // A group of its own: the children of a server end with it.
  const options = { cwd: folder, env: { ...process.env, ...env }, detached: true }
  const server = spawn(command, args, { ...options, stdio: ['ignore', log, log] })
  closeSync(log)
  server.once('error', ({ message }) => tell({ word: 'failed', id, message }))
  if (server.pid === undefined) return
  servers.add(server)
  server.once('exit', () => {
    servers.delete(server)
    tell({ word: 'ended', id })
    endIfAbandoned()
  })
  tell({ word: 'started', id, pid: server.pid })
}

/** @param {Answer} answer */
function tell(answer) {
  if (process.connected) process.send?.(answer)
}

function endIfAbandoned() {
  if (process.connected || servers.size > 0) return
  rmSync(folderOfAll, { recursive: true, force: true })
  process.exit()
}
