import type { Busy, Hold, LockBackend, TakeResult, TakeRequest } from '../../core/contract/lock-backend.ts'
import { type Diagnosis, ignoreRejection } from '../../core/errors.ts'
import { tokenLength } from '../../core/lease/token.ts'
import { isYes, type RedisPort } from '../connection/port.ts'
import { Inbox } from '../push/inbox.ts'
import { lockKey, lockKeys, type LockKeys } from './lock-keys.ts'
import { renewEach } from '../connection/renewal.ts'
import { loadScript, runScript } from '../connection/run-script.ts'
import { ConnectionTrouble } from '../connection/connection-trouble.ts'
import * as scripts from '../scripts.ts'

/**
 * How often the first waiter asks, in milliseconds: it suspects a silent holder, and replaces it when it asks again.
 */
const suspectEvery = 300

/** The options of locks on Redis beyond those of all locks. */
export interface RedisLocksOptions {
  readonly prefix: string
  readonly wakeUp: 'push' | 'poll'
  readonly stealFromDead: boolean
  readonly minReplicas: number
  readonly replicaTimeout: number
}

/** Locks on one Redis, or on a Cluster. A lock is a plain string, so that clients with `SET NX PX` are excluded too. */
export class RedisLocks implements LockBackend {
  readonly longest: number = Number.POSITIVE_INFINITY
  readonly #client: RedisPort
  readonly #options: RedisLocksOptions
  readonly #inbox: Inbox | null
  readonly #trouble: ConnectionTrouble
  readonly #lost = new Map<string, () => void>()

  constructor(client: RedisPort, options: RedisLocksOptions) {
    this.#client = client
    this.#options = options
    const lose = (): void => {
      // Without its inbox, this process counts as dead, and other processes may already hold its locks.
      if (options.stealFromDead) for (const tell of this.#lost.values()) tell()
    }
    const trouble = (this.#trouble = ConnectionTrouble.of(client))
    const owner = { trouble, confirmLeases: lose, pushed: () => undefined }
    this.#inbox = options.wakeUp === 'push' ? new Inbox(client, owner) : null
  }

  open(): void {
    this.#trouble.open()
    this.#inbox?.open()
    for (const script of [scripts.take, scripts.giveBack, scripts.prolong]) loadScript(this.#client, script)
  }

  async close(): Promise<void> {
    this.#trouble.close()
    this.#inbox?.close()
  }

  diagnose(rejection?: unknown): Diagnosis | null {
    return this.#trouble.diagnose(rejection)
  }

  take(request: TakeRequest): Promise<TakeResult> {
    const inbox = this.#inbox
    // A request that neither waits nor can be replaced later receives no messages.
    if (inbox === null || (request.waits === 'no' && !this.#steals)) return this.#take(request)
    return inbox.asking(() => this.#take(request))
  }

  async #take({ name, token, ttl, waits }: TakeRequest): Promise<TakeResult> {
    const keys = lockKeys(this.#options.prefix + name)
    const inbox = this.#inbox?.name ?? ''
    const me = token + inbox
    const { lock, fence, queue, places, suspect } = keys
    // Its name in the queue, if it asked before the inbox was subscribed, or while it still was.
    const other = me === token ? token + (this.#inbox?.channel ?? '') : token
    const its = this.#steals ? [lock, fence, queue, places, suspect] : [lock, fence, queue, places]
    const args = [me, Math.ceil(ttl), waits, ...(waits === 'no' || other === me ? [] : [other])]
    let reply: unknown[]
    try {
      reply = (await this.#run(scripts.take, its, args)) as unknown[]
    } catch (error) {
      // Unless the server itself refused, it may have granted a lock whose reply is lost.
      if (!this.#client.isReply(error)) ignoreRejection(this.#giveBack(keys, token, me))
      throw error
    }
    if (Number(reply[0]) === 1) {
      const hold = this.#held(name, ttl, reply)
      if (this.#options.minReplicas > 0) await this.#replicated(hold)
      return { state: 'held', hold }
    }
    const left = Number(reply[1]) < 0 ? Number.POSITIVE_INFINITY : Number(reply[1])
    const pushed = inbox !== '' && Number(reply[2]) === 1
    return this.#busy({ keys, token, me, left, pushed, waits: waits !== 'no' })
  }

  renew(holds: readonly Hold[]): Promise<boolean>[] {
    const locks = holds.map(({ name, token, ttl }) => ({ key: lockKey(this.#options.prefix + name), token, ttl }))
    return renewEach(this.#client, scripts.prolong, locks).map((renewed) => renewed.then(isYes))
  }

  release({ name, token }: Hold): Promise<boolean> {
    this.#lost.delete(token)
    this.#inbox?.letGo(token.slice(0, tokenLength))
    return this.#trouble.sendOnce(() => this.#giveBack(lockKeys(this.#options.prefix + name), token, ''))
  }

  get #steals(): boolean {
    // In a cluster, a node knows only its own subscribers.
    return this.#options.stealFromDead && this.#inbox !== null && !this.#client.isCluster
  }

  #held(name: string, ttl: number, reply: readonly unknown[]): Hold {
    const token = String(reply[1])
    const granted: Hold = { name, token, ttl, fence: BigInt(String(reply[2])) }
    return token.length > tokenLength ? { ...granted, lost: this.#robbed(token) } : granted
  }

  /** Resolves when other processes may take the lock over, because they take this process for dead. */
  #robbed(token: string): Promise<void> {
    return new Promise((resolve) => {
      this.#lost.set(token, resolve)
      this.#inbox?.hold(token.slice(0, tokenLength), resolve)
      if (this.#inbox?.name !== token.slice(tokenLength + 1)) resolve()
    })
  }

  /**
   * Waits until enough replicas know of the lock. This narrows the window in which a failover forgets it, but does not
   * close it.
   */
  async #replicated(hold: Hold): Promise<void> {
    const { minReplicas, replicaTimeout } = this.#options
    try {
      const known = Number(await this.#client.call('wait', null, [minReplicas, Math.ceil(replicaTimeout)]))
      if (known >= minReplicas) return
      throw new Error(`${known} of ${minReplicas} replicas acknowledged the lock within ${replicaTimeout} ms`)
    } catch (error) {
      ignoreRejection(this.release(hold))
      throw error
    }
  }

  #busy(request: { keys: LockKeys; token: string; me: string; left: number; pushed: boolean; waits: boolean }): Busy {
    const { keys, token, me, left, pushed, waits } = request
    let leave = (): void => undefined
    const freed = new Promise<void>((resolve) => {
      if (waits && this.#inbox !== null) leave = this.#inbox.listen(token, () => resolve())
    })
    const giveUp = async (): Promise<void> => {
      leave()
      if (waits) await this.#giveBack(keys, '', me)
    }
    const soon = this.#steals && left < Number.POSITIVE_INFINITY ? Math.min(left, suspectEvery) : left
    return { state: 'busy', freed, pushed, left: soon, leave, giveUp }
  }

  async #giveBack({ lock, queue, places }: LockKeys, held: string, place: string): Promise<boolean> {
    const args = this.#client.isCluster ? [held, place, 'cluster'] : [held, place]
    return Number(await this.#run(scripts.giveBack, [lock, queue, places], args)) === 1
  }

  #run(script: scripts.Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    return runScript(this.#client, script, keys, args)
  }
}
