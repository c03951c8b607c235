import { timers } from '../../core/time/clock.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tellHandler, tellPassed } from '../message/cache-info.ts'
import { cacheStatusText, type Forwarded } from '../message/cache-status.ts'
import { Redirect, type Course, type Head } from './redirect.ts'
import type { SeenFields } from '../inputs/watched-fields.ts'
import type { Client } from './client.ts'
import { Decider, type Decision } from './decide.ts'
import { finished } from './behind.ts'
import { EarlierLines } from './earlier-lines.ts'
import { cutOff, isHttp2, streamOf } from '../message/http2.ts'
import { sayReason } from '../message/response-arguments.ts'
import type { FieldLine } from '../policy/fields.ts'
import { cutting, partOfPassed, sayPart } from './part.ts'
import { isReplaced } from './serve.ts'
import type { Ended, Recording } from './recording.ts'
import type { Shared } from './shared.ts'
import { givenName, type Inputs } from '../inputs/inputs.ts'
import type { Old, StoredHead } from '../stored/stored-response.ts'
import { WatchedRequest } from '../inputs/watched-request.ts'

const none: ReadonlySet<string> = new Set()

const fileAdvice = [
  'HERDLESS_MAX_AGE',
  'A file was sent with `max-age=0`, as `sendFile` does unless it is told otherwise: its response is stored, and revalidated ' +
    'at each request, whatever `ttl` the options have. Say how long it holds, `sendFile(path, { maxAge: 60_000 })`, ' +
    'or leave it to the cache, `sendFile(path, { cacheControl: false })`',
] as const

/** What a run is about. */
export interface RunAbout {
  /** The reason why the handler runs. */
  readonly forwarded: Forwarded
  /** The stored response that the handler is asked to validate. */
  readonly old: Old | null
  /** The lines that earlier middleware has set on the response. */
  readonly lines: readonly FieldLine[]
  /** Whether what the request is given becomes part of the key. */
  readonly isApart: boolean
  /** The response of a background refresh, whose client has its answer; `null` for that of the client. */
  readonly behind: ServerResponse | null
}

/** One run of the handler whose answer may be stored and shared. */
export class Run {
  /** Resolves when the treatment of the answer is decided, or if the answer ends without a head. */
  readonly decided: Promise<void>
  /** Resolves when the storing of the answer is over, with or without a result. */
  readonly settled: Promise<void>
  readonly #shared: Shared
  readonly #client: Client
  readonly #about: RunAbout
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #decider: Decider
  readonly #isBehind: boolean
  readonly #earlier: EarlierLines
  /** Whether the bytes of the handler are those that its client is sent. */
  readonly #hasParts: boolean
  #onDecided!: () => void
  #onSettled!: () => void
  /** Called after the handler has read another input. */
  #onTold: () => void = () => undefined
  #watched: WatchedRequest | null = null
  #redirect: Redirect | null = null
  #decision: Decision | null = null
  #state: 'open' | 'forgone' | 'alone' | 'begun' = 'open'
  /** Whether a cache behind this one stores the answer. */
  #hasGivenWay = false
  /** The error that an option has thrown. */
  #error: Error | null = null
  /** The keys of the slots that it fills. */
  readonly #keys: string[] = []

  constructor(shared: Shared, client: Client, about: RunAbout) {
    this.#shared = shared
    this.#client = client
    this.#about = about
    this.#request = client.request
    this.#response = about.behind ?? client.response
    this.#isBehind = about.behind !== null
    this.#hasParts = !isReplaced(client.response)
    this.#decider = new Decider(client, shared.plan, { defaultTtl: shared.sibling.defaultTtl, isApart: about.isApart })
    this.decided = new Promise((resolve) => (this.#onDecided = resolve))
    this.settled = new Promise((resolve) => (this.#onSettled = resolve))
    this.#earlier = new EarlierLines(this.#isBehind ? [] : about.lines)
  }

  /** Whether the handler may still be run: its client waits and has no other answer. */
  get isOpen(): boolean {
    // A pipelined response does not learn that its connection has ended.
    const isDone = this.#client.isDone || this.#request.socket?.destroyed === true
    return this.#state === 'open' && (this.#isBehind || !isDone)
  }

  /** The treatment of the answer; `null` if it is not or never decided. */
  get decision(): Decision | null {
    return this.#decision
  }

  /** The answer as it is written; `null` before the handler has begun. */
  get recording(): Recording | null {
    return this.#redirect?.recording ?? null
  }

  /**
   * Runs the handler.
   * @returns a promise of the treatment of its answer; `null` if the answer ended without a head
   */
  async begin(): Promise<Decision | null> {
    const redirect = this.#watch()
    // From here on nothing throws without the client getting an answer.
    this.#state = 'begun'
    void redirect.decided.then(() => {
      this.#onTold = () => undefined
      this.#onDecided()
    })
    if (this.#isBehind) void redirect.written.then(() => finished(this.#response))
    try {
      this.#runHandler()
    } catch (error) {
      cutOff(this.#response, error as Error)
      throw error
    }
    await redirect.decided
    if (this.#error !== null) throw this.#error
    return this.#decision
  }

  /** A refresh belongs to no client: it leaves the context of the request, which earlier middleware may have filled. */
  #runHandler(): void {
    const run = (): void => (this.#watched === null ? this.#client.run() : this.#watched.run(this.#client.run))
    if (this.#isBehind) this.#shared.outside.runInAsyncScope(run)
    else run()
  }

  /**
   * Watches the inputs of the handler, and redirects its answer.
   * @throws the error of an option; the handler can then still be run without a cache
   */
  #watch(): Redirect {
    const { plan, earlierProperties } = this.#shared
    const { forwarded, old } = this.#about
    const most = plan.maxBody(this.#request)
    const onSee = (name: string): void => {
      this.#seenLate(name)
      this.#onTold()
    }
    const onEnd = (): void => this.recording?.break('it was cut off')
    tellHandler(this.#request, { forwarded, detail: null, background: this.#isBehind })
    const { names: earlierFields, setByHandler: onSet } = this.#earlier
    const about = {
      client: this.#client,
      response: this.#response,
      earlierFields,
      plan,
      earlierProperties,
      old,
      isBehind: this.#isBehind,
      onSee,
      onSet,
      onEnd,
    }
    // An HTTP/2 connection serves many requests. A watched request shows the handler another object as its connection.
    const carrier = isHttp2(this.#request) ? streamOf(this.#response) : this.#request.socket
    const watched = new WatchedRequest(about)
    const { waiters, sibling } = this.#shared
    try {
      const redirect = new Redirect(this.#response, {
        decide: (head) => this.#courseOf(head),
        watched,
        most,
        carrier: this.#isBehind ? null : carrier,
        isAwaited: () => this.#keys.some((key) => waiters.hasOther(key, this.#client)),
        patience: sibling.defaultHardTimeout,
      })
      ;[this.#watched, this.#redirect] = [watched, redirect]
      return redirect
    } catch (error) {
      watched.release()
      throw error
    }
  }

  /**
   * Resolves when the handler has not answered within a turn of the event loop and has read an input that is not among
   * the known ones.
   * @returns all names of inputs known by then
   */
  async tellsApart(known: readonly string[]): Promise<readonly string[]> {
    return await new Promise((resolve) => {
      const look = (): void => {
        if (this.#decision !== null || this.#about.old !== null || this.recording?.isWhole !== true) return
        const names = this.#namesSoFar()
        if (names !== '*' && names.some((name) => !known.includes(name))) resolve(names)
      }
      // A handler that answers in the same turn reports all inputs with its head.
      this.#onTold = () => void timers.setImmediate(look)
      this.#onTold()
    })
  }

  /** The inputs read so far; `'*'` if an option throws, which it will do again when the head is decided. */
  #namesSoFar(): readonly string[] | '*' {
    try {
      return this.#watched?.fields.unwatched(() => this.#decider.namesSoFar(this.#seen)) ?? '*'
    } catch {
      return '*'
    }
  }

  /**
   * Gives the client to another answer: the handler will not be run, even if this request gets the lease later.
   * @returns whether that is possible: the handler has not begun, and the client was not given away before
   */
  forgo(): boolean {
    if (!this.isOpen) return false
    this.#state = 'forgone'
    return true
  }

  /** Ends the storing of the answer, and the run of a refresh, which no client ends by its departure. */
  settle(): void {
    this.#onSettled()
    if (this.#isBehind) this.recording?.break('its load has ended')
  }

  /**
   * Leaves the storing of the answer to a cache behind this one, which knows more about its audience.
   * @returns `'cache'`; or `'handler'` in a background refresh, where an answer of that cache would reach no client
   */
  giveWay(): 'cache' | 'handler' {
    if (this.#state !== 'begun' || this.#decision !== null) return 'cache'
    this.#hasGivenWay = true
    if (this.#isBehind) return 'handler'
    this.#decision = this.#toPass('stacked')
    this.#endSharing()
    this.#redirect?.release()
    this.#watched?.release()
    return 'cache'
  }

  /** The head of an answer that other requests may follow; `null` if they may not, or no longer. */
  get streamed(): StoredHead | null {
    const decision = this.#decision
    if (decision?.to !== 'store' || decision.tags.length > 0 || this.#isBehind) return null
    return this.recording?.isWhole === true ? decision.head : null
  }

  /**
   * Whether another request may follow the answer.
   * @param inputs the inputs of that request
   */
  mayFollow(inputs: Inputs, head: StoredHead): boolean {
    return inputs.mayHave(head) && this.#watched?.isAlike(this.#client.inputs, inputs) === true
  }

  /** Registers a further key at which requests wait for the answer. */
  awaitedAt(key: string): void {
    this.#keys.push(key)
  }

  /** Runs the handler for this client alone, as if there were no cache. */
  runAlone(): void {
    this.#state = 'alone'
    const { forwarded } = this.#about
    tellPassed(this.#request, this.#response, { forwarded, detail: 'pass' })
    this.#runHandler()
  }

  /**
   * Resolves with the end of the answer. It is unfit to be stored if the handler has read an input after its head that
   * is not part of the key.
   */
  async ended(): Promise<Ended> {
    const { recording } = this
    if (recording === null) return { state: 'broken', why: 'it never began' }
    const ended = await recording.ended
    const names = this.#decision?.names ?? []
    const late = [...this.#seen].filter((name) => !names.includes(name))
    // A body that is too large to be kept is watched as long as it has followers.
    void recording.over.then(() => this.#watched?.release())
    if (late.length === 0 || ended.state !== 'complete') return ended
    return { state: 'unfit', why: `it has read ${late.join(', ')} after its head` }
  }

  /** Resets the response to its state before the handler. */
  reset(before: readonly FieldLine[]): void {
    this.#redirect?.release()
    this.#watched?.release()
    sayReason(this.#response, '')
    for (const name of this.#response.getHeaderNames()) this.#response.removeHeader(name)
    for (const [name, value] of before) this.#response.appendHeader(name, value)
  }

  get #seen(): SeenFields {
    return this.#watched?.seen ?? none
  }

  /**
   * Cuts the followers off if the handler reads an input, after its head, that may differ between them. See
   * `WatchedRequest`.
   */
  #seenLate(name: string): void {
    if (this.recording?.isFollowed !== true || this.#watched?.ignoresUndeclared !== false) return
    // Followers are equal in every input that can be part of a key.
    if (!this.#client.inputs.isKeyable(name)) this.recording.cutOthers()
  }

  #toPass(why: string): Decision {
    const names = this.#decision?.names ?? []
    const isAlike = this.#client.inputs.isUsual && !this.#hasGivenWay
    return { to: 'pass', why, names: isAlike || names.includes(givenName) ? names : [...names, givenName] }
  }

  /** Ends the sharing of the answer. */
  #endSharing(): void {
    this.recording?.break('it is for its own client alone')
    this.#watched?.releaseSurroundings()
    // The handler goes on with the fields and the address that it has seen before.
    void this.#redirect?.written.then(() => this.#watched?.release())
  }

  #courseOf(head: Head): Course | null {
    const decide = (): Course | null => this.#decide(head)
    try {
      // Reads by options of the user do not count as reads of the handler.
      return this.#watched === null ? decide() : this.#watched.fields.unwatched(decide)
    } catch (error) {
      // The client gets its answer all the same: the handler is not at fault and would only be run again.
      this.#error = error as Error
      return this.#isBehind ? null : { with: [] }
    }
  }

  #decide(head: Head): Course | null {
    const refreshed = this.#isBehind ? (this.#about.old?.stored ?? {}) : null
    const decided = this.#decider.decide(this.#earlier.ownOf(head, refreshed), this.#about.old, this.#seen)
    const decision = this.#hasGivenWay ? this.#toPass('stacked') : decided
    this.#decision = decision
    if (decision.to === 'pass') this.#endSharing()
    if (decision.to === 'store' && this.#decider.isUntold(head)) this.#shared.sibling.events.advise(...fileAdvice)
    if (this.#isBehind || decision.to === 'drop' || decision.to === 'store again') return null
    const course = { with: this.#said(decision), late: (name: string) => this.#refuse(name) }
    // The conditions and the range of the request were hidden from the handler.
    const part = decision.to === 'pass' ? partOfPassed(this.#client.asked, head, this.#hasParts, Date.now()) : null
    if (part === null) return course
    sayPart(this.#response, part)
    return { ...course, cut: cutting(part) }
  }

  /**
   * Withdraws the decision to share, because earlier middleware has changed a field while the head was sent. See
   * `sendHead`.
   */
  #refuse(field: string): readonly FieldLine[] {
    if (this.#decision === null) return []
    if (this.#decision.to !== 'pass') {
      this.#decision = this.#toPass(`late:${field}`)
      this.#endSharing()
    }
    return this.#said(this.#decision)
  }

  #said(decision: Decision): readonly FieldLine[] {
    const detail = decision.to === 'pass' ? decision.why : undefined
    const status = { forwarded: this.#about.forwarded, stored: decision.to === 'store' }
    return [['Cache-Status', cacheStatusText(detail === undefined ? status : { ...status, detail })]]
  }
}
