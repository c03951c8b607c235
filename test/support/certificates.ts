import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram, foldersOfPath } from '../../tools/servers/redis-program.mjs'

/** An authority of our own, and what it vouches for: a server on the loopback interface. All are texts in PEM. */
export interface Certificates {
  readonly authority: string
  readonly certificate: string
  readonly key: string
}

/** The program that makes certificates, or undefined where there is none. */
export function findOpenssl(): string | undefined {
  return findProgram('openssl', foldersOfPath())
}

/** Makes new ones, valid for two days. Nobody can make another: the key of the authority is thrown away. */
export async function makeCertificates(): Promise<Certificates> {
  const openssl = findOpenssl()
  if (openssl === undefined) throw new Error('There are no certificates here: openssl is not on the PATH')
  const folder = await mkdtemp(join(tmpdir(), 'herdless-certificates-'))
  const run = (command: string): Promise<unknown> => promisify(execFile)(openssl, command.split(' '), { cwd: folder })
  try {
    const subject = 'basicConstraints=CA:FALSE\nsubjectAltName=IP:127.0.0.1,DNS:localhost\n'
    await writeFile(join(folder, 'subject'), subject)
    await run('req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=herdless-tests -keyout ca.key -out ca.pem')
    await run('req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout server.key -out server.request')
    await run(
      'x509 -req -in server.request -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile subject -out server.pem',
    )
    const text = (name: string): Promise<string> => readFile(join(folder, name), 'utf8')
    return { authority: await text('ca.pem'), certificate: await text('server.pem'), key: await text('server.key') }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
