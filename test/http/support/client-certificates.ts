import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findOpenssl } from '../../support/certificates.ts'

/** A certificate and its key, in PEM. */
export interface Shown {
  readonly cert: string
  readonly key: string
}

/** Certificates of one new authority: for the server `site`, and for clients by name. */
export async function clientCertificates<Name extends string>(
  names: readonly Name[],
): Promise<{ ca: string; of: Record<Name | 'site', Shown> }> {
  const openssl = findOpenssl()
  if (openssl === undefined) throw new Error('There are no certificates here: openssl is not on the PATH')
  const folder = await mkdtemp(join(tmpdir(), 'herdless-certificates-'))
  const run = (command: string): Promise<unknown> => promisify(execFile)(openssl, command.split(' '), { cwd: folder })
  const text = (name: string): Promise<string> => readFile(join(folder, name), 'utf8')
  try {
    await writeFile(join(folder, 'extensions'), 'basicConstraints=CA:FALSE\nsubjectAltName=DNS:site,IP:127.0.0.1\n')
    const newKey = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'
    await run(`req -x509 ${newKey} -days 2 -subj /CN=herdless-tests -keyout ca.key -out ca.pem`)
    const shown = async (name: string): Promise<Shown> => {
      await run(`req ${newKey} -subj /CN=${name} -keyout ${name}.key -out ${name}.request`)
      const signed = `-CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile extensions`
      await run(`x509 -req -in ${name}.request ${signed} -out ${name}.pem`)
      return { cert: await text(`${name}.pem`), key: await text(`${name}.key`) }
    }
    const all: [string, Shown][] = []
    for (const name of ['site', ...names]) all.push([name, await shown(name)])
    return { ca: await text('ca.pem'), of: Object.fromEntries(all) as Record<Name | 'site', Shown> }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
