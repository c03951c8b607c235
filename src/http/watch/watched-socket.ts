import { Socket } from 'node:net'
import { withheld } from '../message/departure.ts'

/** By which a handler may know a client: its address, its certificate, its connection. */
const ofPeer: ReadonlySet<string> = new Set([
  ...'remoteAddress remoteFamily remotePort localAddress localPort localFamily address'.split(' '),
  ...'_peername _getpeername _sockname _getsockname _handle _parent _tlsOptions ssl'.split(' '),
  ...'authorized authorizationError getPeerCertificate getPeerX509Certificate getSession getTLSTicket'.split(' '),
  ...'isSessionReused getFinished getPeerFinished getSharedSigalgs getEphemeralKeyInfo getCipher getProtocol'.split(
    ' ',
  ),
  ...'exportKeyingMaterial servername alpnProtocol bytesRead bytesWritten _bytesDispatched'.split(' '),
])

/** What node:net, node:tls and node:http put on each connection by themselves. */
const ofNode: ReadonlySet<string> = new Set([
  ...Object.getOwnPropertyNames(new Socket()),
  ...'parser emit on addListener prependListener setEncoding encrypted timeout secureConnecting'.split(' '),
  ...'_paused _httpMessage _secureEstablished _securePending _newSessionPending _controlReleased'.split(' '),
  ...'_SNICallback _requestCert _rejectUnauthorized'.split(' '),
])

/** By these a handler ends a connection. */
const ending: ReadonlySet<PropertyKey> = new Set(['destroy', 'destroySoon', 'end', 'resetAndDestroy'])

/**
 * A connection that tells what a handler reads of its client. Its methods are those of the connection itself.
 * @param onRead told the name of what is read
 * @param onEnd told that the handler is about to end it
 */
export function watchedSocket(socket: Socket, onRead: (name: string) => void, onEnd: () => void): Socket {
  const kind = kindOf(socket)
  return new Proxy(socket, {
    get(target, name) {
      if (typeof name === 'string' && isTelling(target, name, kind)) onRead(name)
      const seen = typeof name === 'string' ? withheld(target, name) : undefined
      if (seen !== undefined) return seen.value
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      if (!ending.has(name)) return value.bind(target) as unknown
      return (...args: unknown[]) => {
        onEnd()
        return Reflect.apply(value, target, args) as unknown
      }
    },
    set: (target, name, value) => Reflect.set(target, name, value, target),
  })
}

/** Whether it tells one client from another: what a listener of the server has put there may do so. */
function isTelling(socket: Socket, name: string, kind: object): boolean {
  if (ofPeer.has(name)) return true
  return name in socket && !(name in kind) && !ofNode.has(name)
}

/** What all connections of a kind have. That of a request may stand before the true one. */
function kindOf(socket: object): object {
  const next: unknown = Object.getPrototypeOf(socket)
  if (next === null) return Socket.prototype
  return Object.hasOwn(socket, 'constructor') ? socket : kindOf(next as object)
}
