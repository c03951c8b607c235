import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram, foldersOfPath } from '../../tools/servers/redis-program.mjs'

/** A certificate and its key, in PEM. */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

/** The program that makes certificates, or undefined where there is none. */
export function findOpenssl(): string | undefined {
  return findProgram('openssl', foldersOfPath())
}

/**
 * Makes certificates of one new authority, for clients and for servers on the loopback interface, each with its name. They
 * are valid for two days. Nobody can make another: the key of the authority is thrown away.
 */
export async function certificatesOf<Name extends string>(
  ...names: Name[]
): Promise<{ ca: string; of: Record<Name, Certificate> }> {
  const openssl = findOpenssl()
  if (openssl === undefined) throw new Error('There are no certificates here: openssl is not on the PATH')
  const folder = await mkdtemp(join(tmpdir(), 'herdless-certificates-'))
  const run = (command: string): Promise<unknown> => promisify(execFile)(openssl, command.split(' '), { cwd: folder })
  const text = (name: string): Promise<string> => readFile(join(folder, name), 'utf8')
  try {
    const newKey = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'
    await run(`req -x509 ${newKey} -days 2 -subj /CN=herdless-tests -keyout ca.key -out ca.pem`)
    const all: [string, Certificate][] = []
    for (const name of names) {
      const subject = `basicConstraints=CA:FALSE\nsubjectAltName=DNS:${name},IP:127.0.0.1\n`
      await writeFile(join(folder, `${name}.subject`), subject)
      await run(`req ${newKey} -subj /CN=${name} -keyout ${name}.key -out ${name}.request`)
      const signed = `-CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile ${name}.subject`
      await run(`x509 -req -in ${name}.request ${signed} -out ${name}.pem`)
      all.push([name, { cert: await text(`${name}.pem`), key: await text(`${name}.key`) }])
    }
    return { ca: await text('ca.pem'), of: Object.fromEntries(all) as Record<Name, Certificate> }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
