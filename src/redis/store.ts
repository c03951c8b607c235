import * as scripts from './scripts.ts'
import { systemClock } from '../core/time/clock.ts'
import { type Diagnosis, type Failure, ignoreRejection } from '../core/errors.ts'
import type {
  Claim,
  ClaimRequest,
  Copies,
  Entry,
  Invalidation,
  Lease,
  LeaseName,
  NewValue,
  Renewed,
  Store,
  StoreUser,
  TrackedCopies,
  Watch,
} from '../core/contract/store.ts'
import type { FleetMode } from '../core/contract/mode.ts'
import { Batch } from './connection/batch.ts'
import { type RedisPort, isYes } from './connection/port.ts'
import { failedIn } from './values/outcome.ts'
import { Overwrites } from './values/overwrites.ts'
import { Coherence } from './values/coherence.ts'
import { flagsOf, payloadOf, tokenIn } from './values/entry.ts'
import { fleetMode } from './values/fleet-mode.ts'
import { HeldLeases, type Grant } from './values/held-leases.ts'
import { Inbox, type InboxOwner } from './push/inbox.ts'
import { Presence, presenceSuffix } from './push/presence.ts'
import { RedisInspection } from './values/inspection.ts'
import { epochKey, keyOfLease, leaseKey, valueKey } from './values/keys.ts'
import { RedisPermits, sourcePrefix } from './locks/permits.ts'
import { Reader } from './values/reader.ts'
import { renewEach } from './connection/renewal.ts'
import { loadScript, runScript } from './connection/run-script.ts'
import { ServerChange } from './connection/server-change.ts'
import { ServerClock } from './connection/server-clock.ts'
import { ConnectionTrouble } from './connection/connection-trouble.ts'
import { epochIn, Tags } from './values/tags.ts'
import { Values } from './values/values.ts'
import { Waits } from './values/waits.ts'

/*
 * The store on Redis. Every decision is made by a script in lua/, by the clock of Redis.
 *
 * Reading order: store.ts (the protocol), values/keys.ts and values/entry.ts (the data), lua/claim.lua and lua/fill.lua
 * (the scripts of a load), push/inbox.ts, values/waits.ts and values/outcome.ts (messages), values/values.ts and
 * values/tags.ts (reads), values/held-leases.ts, values/overwrites.ts (writes without a lease), values/coherence.ts and
 * push/watcher.ts (near copies). Then connection/ (commands), values/inspection.ts (operators), and locks/:
 * redis-lock.ts, locks.ts, redlock.ts and majority.ts.
 */

/**
 * How long a holder's inbox must have been without a subscriber before its lease may be taken over, in milliseconds. A
 * holder that lost only its subscription has time to take its name off its leases, and together with the waiters'
 * interval a dead holder is replaced within half a second.
 */
const goneAfter = 50

const none: readonly string[] = []

/** The lease protocol on Redis. */
export class RedisStore implements Store {
  readonly sharded: boolean
  readonly inspection: RedisInspection
  readonly permits: RedisPermits
  readonly #client: RedisPort
  readonly #clock: ServerClock
  readonly #tags: Tags
  readonly #values: Values
  readonly #claims: Batch
  readonly #fills: Batch
  readonly #releases: Batch
  readonly #coherence: Coherence
  readonly #overwrites: Overwrites
  readonly #inbox: Inbox | null
  readonly #presence: Presence | null
  readonly #held: HeldLeases
  readonly #waits: Waits
  readonly #serverChange: ServerChange
  readonly #trouble: ConnectionTrouble
  /** One per cache that uses the store. */
  readonly #users: StoreUser[] = []

  constructor(client: RedisPort, wakeUp: 'push' | 'poll') {
    this.#client = client
    this.sharded = client.isCluster
    this.#clock = new ServerClock(systemClock, async () => (await client.call('time', null, [])) as unknown[])
    const reader = new Reader(client)
    this.#claims = new Batch(client, scripts.claim)
    this.#fills = new Batch(client, scripts.fill)
    this.#releases = new Batch(client, scripts.release)
    this.#tags = new Tags(client, reader)
    this.inspection = new RedisInspection(client, this.#tags)
    this.#values = new Values(reader, this.#tags, this.#clock)
    const mayHaveForgotten = (): void => {
      for (const user of this.#users) user.mayHaveForgotten()
      this.permits.confirmAll()
    }
    const trouble = (this.#trouble = ConnectionTrouble.of(client))
    this.#serverChange = new ServerChange(client, mayHaveForgotten)
    this.#coherence = new Coherence(client, () => this.#inbox?.name ?? '')
    this.#overwrites = new Overwrites(client, this.#clock, this.#tags, this.#coherence)
    const confirmLeases = (): void => {
      this.#held.confirmAll()
      this.permits.confirmAll()
    }
    const owner: InboxOwner = {
      copies: this.#coherence,
      trouble,
      confirmLeases,
      pushed: (up) => {
        for (const user of this.#users) user.pushed(up)
      },
      resubscribed: mayHaveForgotten,
      modeChanged: () => {
        for (const user of this.#users) user.modeChanged()
      },
      awaited: (token, lease) => {
        for (const user of this.#users) user.awaited({ token, key: keyOfLease(lease, client.keyPrefix) })
      },
    }
    this.#inbox = wakeUp === 'push' ? new Inbox(client, owner) : null
    this.#presence = wakeUp === 'push' && client.isCluster ? new Presence(client, confirmLeases) : null
    this.permits = new RedisPermits(client, this.#inbox, { prefix: sourcePrefix, replacesDead: true })
    this.#held = new HeldLeases(this.#inbox, (leases) => this.renew(leases))
    this.#waits = new Waits(client, this.#inbox, { clock: this.#clock, values: this.#values })
  }

  get connected(): Promise<void> | undefined {
    return this.#client.connected
  }

  open(user: StoreUser = nobody): void {
    if (this.#users.push(user) > 1) return
    this.#trouble.open()
    this.#serverChange.open()
    this.#inbox?.open()
    this.#presence?.open(this.#inbox?.channel ?? '')
    // In advance, so that the first miss costs no more than others. The first use makes up for a failure.
    for (const script of Object.values(scripts)) loadScript(this.#client, script)
    ignoreRejection(this.#clock.ask())
  }

  async close(user: StoreUser = nobody): Promise<void> {
    const at = this.#users.indexOf(user)
    // It has closed before, or was never open.
    if (at === -1) return
    this.#users.splice(at, 1)
    if (this.#users.length > 0) return
    this.#trouble.close()
    this.#serverChange.close()
    const left = this.#coherence.leave()
    this.#inbox?.close()
    this.#presence?.close()
    await left
  }

  read(key: string, tags: readonly string[] = []): Promise<Entry | null> {
    return this.#values.read(key, tags)
  }

  readMany(keys: readonly string[]): Promise<(Entry | null)[]> {
    return this.#values.readMany(keys)
  }

  claim(request: ClaimRequest): Promise<Claim> {
    const inbox = this.#inbox
    return inbox === null ? this.#claim(request) : inbox.asking(() => this.#claim(request))
  }

  /** @param unwanted the tokens of outcomes that are no answer: that of the request, and those that a tag has voided */
  #claim(
    request: ClaimRequest,
    unwanted: readonly string[] = request.unwanted === undefined ? none : [request.unwanted],
  ): Promise<Claim> {
    const inbox = this.#inbox?.name ?? ''
    const sentAt = systemClock.now()
    return this.#sendClaim(request, unwanted, inbox).then((reply) => {
      this.#clock.sample(Number(reply[1]), sentAt)
      switch (String(reply[0])) {
        case 'fresh':
          return this.#fresh(request, unwanted, reply)
        case 'lease':
          return this.#granted(request, unwanted.length > 0, inbox, reply)
        case 'wait':
          return this.#waits.of(request.key, inbox, reply)
        case 'failed':
          return this.#failed(request, unwanted, reply)
        default:
          return { state: 'pass' }
      }
    })
  }

  #sendClaim(request: ClaimRequest, unwanted: readonly string[], inbox: string): Promise<unknown[]> {
    const { key, token, leaseTtl, known, awaited, holder = '', context = '', urgent = false } = request
    const isUsual = known === undefined && awaited === undefined && unwanted.length === 0 && context === '' && !urgent
    const about = isUsual ? '' : JSON.stringify({ known, awaited, unwanted: unwanted.join(' '), context, urgent })
    const claimer = [inbox, this.#inbox === null ? '' : goneAfter, holder, presenceSuffix(this.#client)]
    const inCommon = { keys: this.#client.isCluster ? [] : [epochKey(key)], args: claimer }
    const args = [token, Math.ceil(leaseTtl), about]
    return this.#claims.run([valueKey(key), leaseKey(key)], args, inCommon) as Promise<unknown[]>
  }

  async #fresh(request: ClaimRequest, unwanted: readonly string[], [, , value]: readonly unknown[]): Promise<Claim> {
    const entry = await this.#values.replied(request.key, value)
    if (entry !== null && entry.outdated !== true) return { state: 'fresh', entry }
    const writer = tokenIn(value)
    if (writer === null || unwanted.includes(writer)) throw new Error('Redis returned a value in an unknown format')
    return await this.#claim(request, [...unwanted, writer])
  }

  #granted(
    { key, token, leaseTtl: ttl }: ClaimRequest,
    replaces: boolean,
    inbox: string,
    [, micros, fence, stale, epoch]: readonly unknown[],
  ): Claim | Promise<Claim> {
    const grant = (since: number): Claim | Promise<Claim> => {
      const granted = { key, token, ttl, fence: BigInt(String(fence)) }
      const lease = this.#held.add(granted, { micros: Number(micros), since, replaces })
      // The subscription by which other processes judge this one may have come or gone while the claim was under way.
      if (inbox !== (this.#inbox?.name ?? '')) this.#held.confirm(lease)
      if (stale === null) return { state: 'lease', lease, stale }
      return this.#values.replied(key, stale).then((entry) => ({ state: 'lease', lease, stale: entry }))
    }
    if (this.#client.isCluster) return this.#tags.now(key).then(grant)
    return grant(epochIn(epoch as Buffer | null) ?? Number(micros) - 1)
  }

  async #failed(request: ClaimRequest, unwanted: readonly string[], reply: readonly unknown[]): Promise<Claim> {
    const [, , error, stale, failedToken] = reply
    const { failure, ...voidable } = failedIn(error)
    if (await this.#tags.haveLifted(voidable)) return await this.#claim(request, [...unwanted, String(failedToken)])
    return { state: 'failed', failure, stale: await this.#values.replied(request.key, stale) }
  }

  /** Whether the server itself refused the command, and so has not executed it. */
  refused(rejection: unknown): boolean {
    return this.#client.isReply(rejection)
  }

  diagnose(rejection?: unknown): Diagnosis | null {
    return this.#trouble.diagnose(rejection)
  }

  fill(lease: Lease, value: NewValue): Promise<boolean> {
    const held = this.#held.end(lease.token) ?? { sentAt: this.#clock.now(), since: 0, replaces: false }
    return (value.tags ?? none).length > 0 ? this.#fillTagged(lease, value, held) : this.#fill(lease, value, held)
  }

  async #fillTagged(lease: Lease, value: NewValue, held: Grant): Promise<boolean> {
    const { ttl, grace, tags = [] } = value
    // All callers that will get the value asked before this check. So the check sees every tag invalidation that they
    // can know of.
    if (await this.#tags.mark(tags, held.since, ttl + grace)) return await this.#fill(lease, value, held)
    await this.release(lease)
    return false
  }

  #fill(lease: Lease, value: NewValue, held: Grant): Promise<boolean> {
    const filling = this.#sendFill(lease, value, held)
    if (!held.replaces) return filling
    return filling.then((filled) => {
      // The replaced value was still fresh: its copies are dropped, but the fill need not wait for that.
      if (filled) ignoreRejection(this.#coherence.drop({ keys: [lease.key], tags: [] }))
      return filled
    })
  }

  #sendFill(
    { key, token }: Lease,
    value: NewValue,
    { sentAt, since }: { readonly sentAt: number; readonly since: number },
  ): Promise<boolean> {
    const { ttl, grace, loadTime, inlineLimit } = value
    const took = Math.min(Math.round(loadTime), 0xffff_ffff)
    const life = [Math.ceil(ttl), Math.ceil(grace), Math.floor(sentAt)]
    const about = `[${life.join()},${took},${inlineLimit},${flagsOf(value)}]`
    const fill = this.#fills.run([valueKey(key), leaseKey(key)], [token, payloadOf(value, since), about])
    return fill.then((reply) => isYes((reply as unknown[])[0]))
  }

  async fail(lease: Lease, failure: Failure, cooldown: number, tags: readonly string[] = []): Promise<boolean> {
    const since = this.#held.end(lease.token)?.since ?? 0
    if (tags.length > 0 && !(await this.#tags.mark(tags, since, cooldown))) {
      await this.release(lease)
      return false
    }
    return this.#settle(
      lease,
      'failed',
      JSON.stringify(tags.length > 0 ? { ...failure, tags, since } : failure),
      cooldown,
    )
  }

  async pass(lease: Lease, duration: number): Promise<boolean> {
    this.#held.end(lease.token)
    return this.#settle(lease, 'pass', '', duration)
  }

  async release({ key, token }: LeaseName): Promise<boolean> {
    this.#held.end(token)
    return isYes(await this.#releases.run([leaseKey(key)], [token, '']))
  }

  renew(leases: readonly Lease[]): Promise<Renewed>[] {
    const held = leases.map(({ key, token, ttl }) => ({ key: leaseKey(key), token, ttl }))
    const seenBy = [this.#inbox?.name ?? '', presenceSuffix(this.#client)]
    const said = renewEach(this.#client, scripts.renew, held, seenBy)
    return said.map((reply) => reply.then((ours) => (Number(ours) === 2 ? 'urgent' : isYes(ours))))
  }

  set(key: string, token: string, value: NewValue, within?: number): Promise<void> {
    return this.#overwrites.set(key, token, value, within)
  }

  invalidate(key: string, how?: Invalidation): Promise<void> {
    return this.#overwrites.invalidate(key, how)
  }

  async invalidateTags(tags: readonly string[], how: Invalidation = 'hard'): Promise<void> {
    if (await this.#tags.invalidate(tags, how)) await this.#coherence.drop({ keys: [], tags })
  }

  watch(namespace: string, copies: Copies): Watch {
    return this.#watching().watch(namespace, copies)
  }

  watchForeign(namespace: string, copies: TrackedCopies): Watch {
    return this.#watching().watchForeign(namespace, copies)
  }

  #watching(): Coherence {
    if (this.#inbox !== null) return this.#coherence
    throw new TypeError(
      "Expected a redisStore with wakeUp 'push' for `near`: copies must be told what goes, got 'poll'",
    )
  }

  fleetMode(namespace: string): Promise<FleetMode | null> {
    return fleetMode(this.#client, namespace)
  }

  async ping(): Promise<void> {
    await this.#clock.ask()
  }

  async #settle({ key, token }: Lease, state: 'failed' | 'pass', error: string, keep: number): Promise<boolean> {
    const args = [token, state, error, Math.ceil(keep)]
    const [ours] = (await runScript(this.#client, scripts.settle, [leaseKey(key)], args)) as unknown[]
    return isYes(ours)
  }
}

/** A user of the store that is not a cache. */
const nobody: StoreUser = { pushed: ignore, mayHaveForgotten: ignore, awaited: ignore, modeChanged: ignore }

function ignore(): void {}
