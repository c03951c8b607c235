/** What a test file leaves behind fails it: files in the temporary folder, servers, and other processes that it has started. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { guardianOfThisProcess } from '../../tools/servers/guarded-process.mjs'
import { until } from '../../tools/until.mjs'

// It outlives the file, and so do its folders: it is there before the file has a temporary folder.
const guardian = guardianOfThisProcess()
const usual = process.env['TMPDIR']
const folder = mkdtempSync(join(tmpdir(), 'herdless-file-'))
process.env['TMPDIR'] = folder

// Defined before those of the file, so it runs after them.
afterAll(async () => {
  if (usual === undefined) delete process.env['TMPDIR']
  else process.env['TMPDIR'] = usual
  // What was told to end may take a moment.
  await until('all has ended that the file has started', () => left().length === 0).catch(() => undefined)
  const found = left()
  rmSync(folder, { recursive: true, force: true })
  if (found.length > 0) throw new Error(`The file leaves behind:\n${found.join('\n')}`)
})

function left(): string[] {
  const servers = guardian.running.map((command) => `a server: ${command}`)
  const files = readdirSync(folder).map((name) => `in the temporary folder: ${name}`)
  return [...servers, ...files, ...processes()]
}

/** The processes that were given the temporary folder of this file. They can be asked for it on Linux alone. */
function processes(): string[] {
  if (process.platform !== 'linux') return []
  const text = (id: string, name: string): string => {
    try {
      return readFileSync(`/proc/${id}/${name}`, 'utf8')
    } catch {
      return '' // It has ended, or is of somebody else.
    }
  }
  return readdirSync('/proc')
    .filter(
      (id) => /^\d+$/.test(id) && Number(id) !== process.pid && text(id, 'environ').includes(`TMPDIR=${folder}\0`),
    )
    .map((id) => `a process: ${text(id, 'cmdline').replaceAll('\0', ' ')}`)
    .filter((each) => each !== 'a process: ')
}
