import { Socket } from 'node:net'
import { withheld } from '../message/departure.ts'

/** Properties that identify a client: address, certificate, connection. */
const ofPeer: ReadonlySet<string> = new Set([
  ...'remoteAddress remoteFamily remotePort localAddress localPort localFamily address'.split(' '),
  ...'_peername _getpeername _sockname _getsockname _handle _parent _tlsOptions ssl'.split(' '),
  ...'authorized authorizationError getPeerCertificate getPeerX509Certificate getSession getTLSTicket'.split(' '),
  ...'isSessionReused getFinished getPeerFinished getSharedSigalgs getEphemeralKeyInfo getCipher getProtocol'.split(
    ' ',
  ),
  ...'exportKeyingMaterial servername alpnProtocol bytesRead bytesWritten _bytesDispatched'.split(' '),
])

/** Properties that node:net, node:tls and node:http themselves set on every connection. */
const ofNode: ReadonlySet<string> = new Set([
  ...Object.getOwnPropertyNames(new Socket()),
  ...'parser emit on addListener prependListener setEncoding encrypted timeout secureConnecting'.split(' '),
  ...'_paused _httpMessage _secureEstablished _securePending _newSessionPending _controlReleased'.split(' '),
  ...'_SNICallback _requestCert _rejectUnauthorized'.split(' '),
])

/** Methods that end a connection. */
const ending: ReadonlySet<PropertyKey> = new Set(['destroy', 'destroySoon', 'end', 'resetAndDestroy'])

/**
 * Wraps a connection and records the reads that may tell clients apart. Methods are called on the connection itself.
 * @param onRead called with the name of a property before it is read
 * @param onEnd called before the handler ends the connection
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

/** Whether a property may tell clients apart, including one that a listener of the server has set. */
function isTelling(socket: Socket, name: string, kind: object): boolean {
  if (ofPeer.has(name)) return true
  return !ofNode.has(name) && !(name in kind) && name in socket
}

/**
 * The prototype with the members of every connection of this class. A socket of this cache may stand in front of the
 * real one on the prototype chain.
 */
function kindOf(socket: object): object {
  const next: unknown = Object.getPrototypeOf(socket)
  if (next === null) return Socket.prototype
  return Object.hasOwn(socket, 'constructor') ? socket : kindOf(next as object)
}
