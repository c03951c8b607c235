import {
  placeKept,
  placeKeptOnceTold,
  type Busy,
  type Hold,
  type LockBackend,
  type TakeResult,
  type TakeRequest,
} from '../core/contract/lock-backend.ts'
import { ignoreRejection } from '../core/errors.ts'
import { shortName } from '../core/entry/key.ts'
import type { Database } from './client.ts'
import { NotificationInbox } from './inbox.ts'
import { postgresLockSchema, quotedName } from './schema.ts'

/** Locks in a table of leases, by the clock of the database. */
export class PostgresLocks implements LockBackend {
  readonly longest: number = Number.POSITIVE_INFINITY
  readonly #database: Database
  readonly #schema: string | undefined
  readonly #inbox: NotificationInbox | null
  /** The prefix of all names in SQL: the quoted schema and a dot. */
  #ready: Promise<string> | null = null

  constructor(database: Database, { schema, wakeUp }: { schema: string | undefined; wakeUp: 'push' | 'poll' }) {
    this.#database = database
    this.#schema = schema
    this.#inbox = wakeUp === 'push' ? new NotificationInbox(database) : null
  }

  open(): void {
    ignoreRejection(this.#at())
  }

  async close(): Promise<void> {
    this.#inbox?.close()
  }

  take(request: TakeRequest): Promise<TakeResult> {
    const inbox = this.#inbox
    return inbox === null || request.waits === 'no' ? this.#take(request) : inbox.asking(() => this.#take(request))
  }

  async #take({ name, token, ttl, waits }: TakeRequest): Promise<TakeResult> {
    const inbox = waits === 'no' ? '' : (this.#inbox?.name ?? '')
    const at = await this.#at()
    const values = [shortName(name), token, inbox, ttl, waits, placeKept]
    const query = `SELECT state, its_fence, rest FROM ${at}herdless_lock_take($1, $2, $3, $4, $5, $6)`
    const [row = []] = await this.#database.query(query, values).catch((error: unknown) => {
      // Unless the database itself refused, it may have granted a lock whose reply is lost.
      if (!saidByDatabase(error)) ignoreRejection(this.#giveBack(name, token, token))
      throw error
    })
    const [state, fence, rest] = row
    if (state === 'held') return { state: 'held', hold: { name, token, ttl, fence: BigInt(String(fence)) } }
    return this.#busy(name, token, { waits: waits !== 'no', rest, pushed: inbox !== '' })
  }

  renew(holds: readonly Hold[]): Promise<boolean>[] {
    const ours = holds.map(({ name, token, ttl }) => ({ name: shortName(name), token, ttl }))
    const renewed = this.#prolong(JSON.stringify(ours))
    return holds.map(async ({ token }) => (await renewed).has(token))
  }

  /**
   * Extends leases, and never shortens one. The race that this survives, with holder A and process B:
   *
   * 1. A sends a renewal by 10 s. Its connection of the pool is slow.
   * 2. A extends the lease to 1 min. That travels on another connection, and overtakes the renewal.
   * 3. The renewal arrives. Written as it is, it would end the lease in 10 s.
   * 4. B would be granted the lock then, while A relies on its minute.
   */
  async #prolong(ours: string): Promise<Set<unknown>> {
    const query = `UPDATE ${await this.#at()}herdless_locks AS held
      SET until = greatest(held.until, clock_timestamp() + ours.ttl * interval '1 ms')
      FROM json_to_recordset($1::text::json) AS ours (name text, token text, ttl double precision)
      WHERE held.name = ours.name AND held.token = ours.token AND held.until > clock_timestamp()
      RETURNING held.token`
    return new Set((await this.#database.query(query, [ours])).map(([token]) => token))
  }

  release({ name, token }: Hold): Promise<boolean> {
    return this.#giveBack(name, token, '')
  }

  async #giveBack(name: string, held: string, waited: string): Promise<boolean> {
    const query = `SELECT ${await this.#at()}herdless_lock_give_back($1, $2, $3, $4) AS ours`
    const values = [shortName(name), held, waited, placeKeptOnceTold]
    const [row] = await this.#database.query(query, values)
    return row?.[0] === true
  }

  #busy(name: string, token: string, about: { waits: boolean; rest: unknown; pushed: boolean }): Busy {
    const { waits, rest, pushed } = about
    const left = typeof rest === 'number' ? rest : Number.POSITIVE_INFINITY
    let leave = (): void => undefined
    const freed = new Promise<void>((resolve) => {
      if (waits && this.#inbox !== null) leave = this.#inbox.listen(token, resolve)
    })
    const giveUp = async (): Promise<void> => {
      leave()
      if (waits) await this.#giveBack(name, '', token)
    }
    return { state: 'busy', freed, pushed, left, leave, giveUp }
  }

  /** The prefix of all names, once the tables exist. A failed attempt is repeated by the next call. */
  #at(): Promise<string> {
    if (this.#ready === null) {
      const ready = (this.#ready = this.#make())
      ready.catch(() => (this.#ready = null))
    }
    return this.#ready
  }

  async #make(): Promise<string> {
    const [row] = await this.#database.query('SELECT current_schema() AS schema', [])
    const schema = this.#schema ?? String(row?.[0])
    const at = `${quotedName(schema)}.`
    const signature = `${at}herdless_lock_take(text, text, text, double precision, text, double precision)`
    const [made] = await this.#database.query('SELECT to_regprocedure($1) IS NOT NULL AS made', [signature])
    // One process at a time, because concurrent CREATE statements for the same table fail.
    if (made?.[0] !== true) {
      await this.#database.script(`SELECT pg_advisory_xact_lock(1751478884, 0);\n${postgresLockSchema(schema)}`)
    }
    return at
  }
}

/** Whether an error is from the database itself. Its code does not tell: EPIPE could be an SQLSTATE. */
function saidByDatabase(error: unknown): boolean {
  return typeof (error as { severity?: unknown } | null)?.severity === 'string'
}
