import type { Connection, Connections } from '../connection.ts'
import type { ClientLibrary } from '../../library.ts'
import type { Facts } from '../facts.ts'
import type { Finding } from '../finding.ts'
import type { Settings } from '../options.ts'

/** A server under examination. */
export interface Subject {
  readonly connection: Connection
  /** Opens another connection to it. */
  readonly connect: () => ReturnType<Connections['open']>
  readonly facts: Facts
  readonly settings: Settings
  readonly aclUser: string | null
  /** The client library of the application. */
  readonly library: ClientLibrary['name']
  readonly kind: 'server' | 'cluster' | 'sentinel'
  readonly database: number
  /** A key as the stores name it, new with this run, that lives on this server. */
  readonly key: string
}

/** Examines one aspect. */
export type DoctorCheck = (subject: Subject) => Promise<readonly Finding[]> | readonly Finding[]
