/**
 * What a process does with its client itself instead of with the store on it, where the libraries differ.
 *
 * @typedef {import('ioredis').Redis | import('ioredis').Cluster} Ioredis
 * @typedef {{ sendCommand: (...args: any[]) => Promise<unknown>, destroy: () => unknown, isOpen: boolean, isReady?: boolean }} NodeRedis
 */
import { setImmediate as turn } from 'node:timers/promises'

/**
 * @param {object} client
 * @returns {client is Ioredis}
 */
function isIoredis(client) {
  return 'callBuffer' in client
}

/**
 * The connections to nodes. A cluster client of ioredis 5 does not end those of nodes that left and came back:
 * https://github.com/redis/ioredis/pull/1864.
 * @type {WeakMap<object, Set<import('ioredis').Redis>>}
 */
const connections = new WeakMap()

/** Notes the connections of a new client to nodes, for `end`. @param {Ioredis} client */
export function followNodes(client) {
  /** @type {Set<import('ioredis').Redis>} */
  const nodes = new Set()
  connections.set(client, nodes)
  client.on('+node', (/** @type {import('ioredis').Redis} */ node) => {
    nodes.add(node)
    node.once('end', () => nodes.delete(node))
  })
}

/** Ends its connections at once. @param {object} client */
export function end(client) {
  if (isIoredis(client)) {
    client.disconnect()
    for (const node of connections.get(client) ?? []) node.disconnect()
    return
  }
  const own = /** @type {NodeRedis} */ (client)
  if (own.isOpen) return own.destroy()
}

/** Whether it is connected to a master; not on a cluster. @param {object} client */
export async function isOnMaster(client) {
  if (isIoredis(client)) return client.status === 'ready' && isMaster(await client.call('ROLE'))
  const own = /** @type {NodeRedis} */ (client)
  if (own.isReady !== true) return false
  return isMaster(await ('_execute' in own ? own.sendCommand(false, ['ROLE']) : own.sendCommand(['ROLE'])))
}

/** @param {unknown} reply */
function isMaster(reply) {
  return String(/** @type {unknown[]} */ (reply)[0]) === 'master'
}

/**
 * Lets its parser take the memory that a large reply costs it: that of ioredis 5 keeps three times its largest one.
 * @param {object} client
 * @param {number} length in bytes
 */
export async function fillParser(client, length) {
  if (isIoredis(client)) await client.callBuffer('ECHO', Buffer.alloc(length))
}

/**
 * Tells of all commands that the client is given from now on, but for the end of its connection.
 * @param {object} client
 * @param {(name: string) => void} heard
 */
export async function hearCommands(client, heard) {
  // What ioredis was given before goes out in the next turn where it makes pipelines by itself.
  if (isIoredis(client) && client.options.enableAutoPipelining) await turn()
  const own = /** @type {NodeRedis} */ (client)
  const send = own.sendCommand.bind(own)
  own.sendCommand = (...args) => {
    const name = isIoredis(client) ? args[0].name : args.find(Array.isArray)?.[0]
    if (name !== 'quit') heard(name)
    return send(...args)
  }
}
