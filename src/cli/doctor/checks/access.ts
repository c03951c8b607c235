import type { Access } from '../connection.ts'
import { about, type Finding } from '../finding.ts'

const voice = about('access', 'docs/production.md#tls-and-passwords')

/** Whether other parties could read or write the traffic to the server. */
export function access({ address, encrypted, password }: Access): Finding[] {
  const here = 'path' in address || /^(localhost|127\.|::1$)/.test(address.host)
  const findings: Finding[] = []
  if (!here && !password) {
    const todo = 'Whoever reaches the server decides what the cache answers. Give the application a user of its own.'
    findings.push(voice.warning('No password', todo))
  }
  if (!here && !encrypted) {
    findings.push(voice.note('Not encrypted', 'Values, and the password, can be read on the way. Use rediss://.'))
  }
  if (findings.length > 0) return findings
  const way = 'path' in address ? 'a socket' : encrypted ? 'TLS' : 'this machine alone'
  return [voice.ok(`Over ${way}, ${password ? 'with' : 'without'} a password`)]
}
