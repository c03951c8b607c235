import { connect as connectPlainly, type Socket } from 'node:net'
import { connect as connectByTls } from 'node:tls'
import { unavailableError, type UnavailableReason } from '../core/errors.ts'
import { reasonOf } from '../redis/connection/unavailable-reason.ts'
import type { Address } from './library.ts'

/** How long a server may take to show whether it speaks TLS, in milliseconds. */
const timeout = 2_000

/** Where a server was asked, and whether by TLS. */
export interface AskedAt {
  readonly address: Address
  readonly encrypted: boolean
}

/** Why a server could not be asked, in sentences: the reason, the words of the client, and what to do. */
export async function whyUnanswered(error: unknown, asked: AskedAt): Promise<string> {
  const reason = reasonOf(error)
  const { message } = unavailableError(error, { reason, cause: error })
  const advice = await adviceFor(reason, message, asked)
  return advice === '' ? message : `${message}. ${advice}`
}

async function adviceFor(reason: UnavailableReason, message: string, { address, encrypted }: AskedAt): Promise<string> {
  if (reason === 'password') {
    return 'Give the user and the password in the URL, redis://user:password@host:6379, or in REDIS_URL'
  }
  // A server with too many clients refuses connections, too.
  if (message.includes('ECONNREFUSED')) return 'Nothing listens there: start a Redis, or give the URL of yours'
  if (reason === 'certificate') return 'If it is signed by an authority of your own, name that with --tls-ca'
  if (!['closed', 'timeout', 'tls'].includes(reason) || 'path' in address) return ''
  if (encrypted) return (await speaks(plainly(address))) ? 'The port speaks no TLS: the URL begins with redis://' : ''
  return (await speaks(byTls(address))) ? 'The port speaks TLS: the URL begins with rediss://' : ''
}

type Place = Extract<Address, { readonly host: string }>

/** A connection that emits `spoke` once the server has shown that it speaks TLS. */
function byTls({ host, port }: Place): Socket {
  // Nothing is sent, so it does not matter who answers.
  const socket = connectByTls({ host, port, rejectUnauthorized: false })
  return socket.once('secureConnect', () => socket.emit('spoke'))
}

/** The same for a server that answers a command without TLS; an error is an answer, too. */
function plainly({ host, port }: Place): Socket {
  const socket = connectPlainly({ host, port })
  socket.once('connect', () => socket.write('PING\r\n'))
  return socket.once('data', (bytes) => /^[+-]/.test(bytes.toString('latin1')) && socket.emit('spoke'))
}

function speaks(socket: Socket): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (spoke: boolean): void => {
      socket.destroy()
      resolve(spoke)
    }
    socket.setTimeout(timeout, () => end(false))
    socket.on('error', () => end(false))
    socket.on('close', () => end(false))
    socket.on('spoke', () => end(true))
  })
}
