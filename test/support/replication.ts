import type { RedisServer } from './redis-server.ts'

/** How a master loses its place: by an order, by a crash, or by its silence. */
export type Failover = 'command' | 'kill' | 'freeze'

/**
 * Arguments of a master that sends its replicas what is written as soon as they are linked to it: after a transfer past
 * the disk it would first wait for a word of them, which they send once a second.
 */
export const streamingAtOnce: readonly string[] = ['--repl-diskless-sync', 'no']

/** Whether a server takes itself for a master, and else the port of the master that it follows and is linked to. */
export async function roleOf({ client }: RedisServer): Promise<{ isMaster: boolean; follows: number | undefined }> {
  const info = await client.info('replication')
  const follows = info.includes('master_link_status:up\r') ? /^master_port:(\d+)/m.exec(info)?.[1] : undefined
  return { isMaster: info.includes('role:master\r'), follows: follows === undefined ? undefined : Number(follows) }
}
