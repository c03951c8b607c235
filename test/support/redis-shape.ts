import { provisionFaketime } from '../../tools/servers/provision-faketime.mjs'
import type { ServerOptions } from '../../tools/servers/start-redis.mjs'
import { certificatesOf } from './certificates.ts'

/** What a server of a test may be like. */
export interface RedisShape extends Omit<ServerOptions, 'access' | 'files' | 'env'> {
  /** The password that it asks for. */
  readonly password?: string
  /** Makes it speak nothing but TLS, with a certificate of an authority that its address names. */
  readonly tls?: true
  /** Gives it a clock of its own, for `shiftClock`. */
  readonly clock?: 'adjustable'
}

/** The file in its folder from which a server with an adjustable clock learns what time it is. */
export const clockFile = 'clock'

/** The offset of a clock in milliseconds, as that file has it. */
export function clockText(ms: number): string {
  return `${ms < 0 ? '-' : '+'}${Math.abs(ms) / 1_000}\n`
}

/** What such a server is started with. */
export async function optionsOf({ password, tls, clock, ...options }: RedisShape): Promise<ServerOptions> {
  const security = tls ? await securityOf() : { args: [], files: {}, access: {} }
  const own = clock ? await clockOf() : { files: {}, env: {} }
  return {
    ...options,
    args: [...(options.args ?? []), ...security.args],
    files: { ...security.files, ...own.files },
    env: own.env,
    access: { ...security.access, ...(password === undefined ? {} : { password }) },
  }
}

async function securityOf(): Promise<Required<Pick<ServerOptions, 'args' | 'files' | 'access'>>> {
  const { ca, of } = await certificatesOf('localhost')
  const files = { 'ca.pem': ca, 'server.pem': of.localhost.cert, 'server.key': of.localhost.key }
  const named = ['--tls-ca-cert-file', 'ca.pem', '--tls-cert-file', 'server.pem', '--tls-key-file', 'server.key']
  return { args: [...named, '--tls-auth-clients', 'no'], files, access: { tls: { ca } } }
}

async function clockOf(): Promise<Required<Pick<ServerOptions, 'files' | 'env'>>> {
  const { preload, missing } = await provisionFaketime()
  if (missing !== undefined) throw new Error(`There is no adjustable clock here: ${missing}`)
  const env = {
    LD_PRELOAD: preload,
    FAKETIME_TIMESTAMP_FILE: clockFile,
    FAKETIME_NO_CACHE: '1',
    // Who sets a wall clock leaves the clock of the timers alone.
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  }
  return { files: { [clockFile]: clockText(0) }, env }
}
