import type { IncomingMessage, ServerResponse } from 'node:http'
import { tellHandler } from '../message/cache-info.ts'
import { cacheStatusText, type Forwarded } from '../message/cache-status.ts'
import { Capture, type Audience, type Course, type Head } from '../answer/capture.ts'
import type { SeenFields } from '../watch/watched-fields.ts'
import type { Client } from './client.ts'
import { Decider, type Decision } from './decision.ts'
import { finished, isOfTheAnswer } from '../answer/detached.ts'
import { cutOff, isHttp2 } from '../message/http2.ts'
import type { FieldLine } from '../policy/fields.ts'
import { cutting, partFor, sayPart } from '../answer/part.ts'
import type { Ended, Follower } from '../answer/recording.ts'
import { linesOf } from '../message/response-arguments.ts'
import type { ResponsePlan } from '../options/response-options.ts'
import { beforeName, type Selection } from '../watch/selection.ts'
import type { Old, StoredHead } from '../stored/stored-response.ts'
import type { Standing } from '../watch/surroundings.ts'
import type { Waiters } from './waiters.ts'
import { WatchedRequest } from '../watch/watched-request.ts'

const none: ReadonlySet<string> = new Set()

/** What a run of the handler needs. */
export interface HandlerRunAbout {
  readonly client: Client
  /** Where it answers, which need not be its client. */
  readonly response: ServerResponse
  readonly plan: ResponsePlan
  readonly standing: Standing
  readonly defaultTtl: number
  /** Has the handler answer. */
  readonly run: () => void
  /** Whether its client has been answered already. */
  readonly isBehind: boolean
  /** Whether what stood before the cache is to be part of the key. */
  readonly isApart: boolean
  readonly waiters: Waiters
  /** How long a handler may run, in milliseconds. */
  readonly hardTimeout: number
}

/** One run of the handler, whose answer is for more than its client. */
export class HandlerRun {
  /** Resolves when it is known what becomes of the answer. */
  readonly decided: Promise<void>
  /** Resolves when it is over what was to be kept of the answer. */
  readonly settled: Promise<void>
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #about: HandlerRunAbout
  readonly #client: Client
  readonly #decider: Decider
  readonly #run: () => void
  readonly #isBehind: boolean
  readonly #outer: ReadonlySet<string>
  #onDecided!: () => void
  #onSettled!: () => void
  /** Called when more is known of what the answer depends on. */
  #onTold: () => void = () => undefined
  #watched: WatchedRequest | null = null
  #capture: Capture | null = null
  #old: Old | null = null
  #forwarded: Forwarded = 'uri-miss'
  #decision: Decision | null = null
  #state: 'open' | 'forgone' | 'passed' | 'begun' = 'open'
  /** Whether a cache behind this one has the answer. */
  #isLeft = false
  /** What an option has thrown. */
  #error: Error | null = null
  readonly #followers = new Set<Follower>()
  /** Those of its places so far. */
  readonly #keys: string[] = []

  constructor(about: HandlerRunAbout) {
    this.#about = about
    this.#client = about.client
    this.#request = about.client.request
    this.#response = about.response
    this.#decider = new Decider(about.client, about.plan, about)
    this.#run = about.run
    this.#isBehind = about.isBehind
    this.decided = new Promise((resolve) => (this.#onDecided = resolve))
    this.settled = new Promise((resolve) => (this.#onSettled = resolve))
    // What stands before says it anew with each answer.
    const lines = linesOf(about.response).filter(([name]) => !isOfTheAnswer(name))
    this.#outer = new Set(lines.map(String))
  }

  /** Whether the handler may be run: its client waits, and nobody else has answered it meanwhile. */
  get isOpen(): boolean {
    // The response to a request behind another is not told that its connection has ended.
    const isDone = this.#client.isDone || this.#request.socket?.destroyed === true
    return this.#state === 'open' && (this.#isBehind || !isDone)
  }

  /** What becomes of the answer; `null` if it is not known yet, or never will be. */
  get decision(): Decision | null {
    return this.#decision
  }

  /** Whether the client has been sent nothing of what the handler said, so that something else can be. */
  get isClientOurs(): boolean {
    return this.#capture?.course?.to === 'nobody'
  }

  /** Has the handler answer; resolves when it is known what becomes of that: `null` if it said nothing. */
  async begin(old: Old | null, forwarded: Forwarded): Promise<Decision | null> {
    this.#old = old
    this.#forwarded = forwarded
    const capture = this.#watch(old)
    // From here on nothing can throw, and leave its client without an answer.
    this.#state = 'begun'
    if (this.#isBehind) void capture.recording.ended.then(({ state }) => state === 'broken' || finished(this.#response))
    this.#runOrCutOff()
    await capture.head
    this.#onTold = () => undefined
    this.#onDecided()
    if (this.#error !== null) throw this.#error
    return this.#decision
  }

  /** Where the handler cannot be run at all, its client is not to wait for it. */
  #runOrCutOff(): void {
    try {
      this.#run()
    } catch (error) {
      cutOff(this.#response, error as Error)
      throw error
    }
  }

  /** Watches what the handler reads and answers. Where that cannot be, the handler can still be run as if there were no cache. */
  #watch(old: Old | null): Capture {
    const { response, plan, standing } = this.#about
    const most = plan.maxBody(this.#request)
    const onSee = (name: string | null): void => {
      this.#seenLate(name)
      this.#onTold()
    }
    const onEnd = (): void => this.#capture?.breakOff()
    const audience = this.#audience
    const watched = new WatchedRequest({ client: this.#client, response, plan, standing, old, onSee, onEnd })
    try {
      tellHandler(this.#request, { forwarded: this.#forwarded, detail: null, background: this.#isBehind })
      const reader = watched.fields
      const capture = new Capture(response, (head) => this.#courseOf(head), { most, reader, audience })
      ;[this.#watched, this.#capture] = [watched, capture]
      return capture
    } catch (error) {
      watched.release()
      throw error
    }
  }

  /**
   * Resolves when the handler takes its time, and it is known by what it has read that answers differ by more than these names.
   * @returns all names that are known by then
   */
  async tellsApart(known: readonly string[]): Promise<readonly string[]> {
    return await new Promise((resolve) => {
      const look = (): void => {
        if (this.#decision !== null || this.#old !== null || this.#capture?.recording.isWhole !== true) return
        const names = this.#watched?.fields.unwatched(() => this.#decider.namesSoFar(this.#seen)) ?? '*'
        if (names !== '*' && names.some((name) => !known.includes(name))) resolve(names)
      }
      // One that answers at once says all of it then.
      this.#onTold = () => void setImmediate(look)
      this.#onTold()
    })
  }

  /**
   * Its client is to be answered otherwise, and not by the handler any more, even if it is this request's turn to have it run.
   * @returns whether it can be: neither has the handler begun, nor was it forgone before
   */
  forgo(): boolean {
    if (!this.isOpen) return false
    this.#state = 'forgone'
    return true
  }

  /** Nothing more is kept of the answer. */
  settle(): void {
    this.#onSettled()
  }

  /**
   * Leaves the answer to a cache behind this one, which knows better for whom it is.
   * @returns by whom it is given: where its client has been answered already, nobody would hear of that cache's
   */
  leave(): 'cache' | 'handler' {
    if (this.#state !== 'begun' || this.#decision !== null) return 'cache'
    this.#isLeft = true
    if (this.#isBehind) return 'handler'
    this.#decision = this.#passed('stacked')
    this.#pass()
    this.#capture?.release()
    this.#watched?.release()
    return 'cache'
  }

  /** The head of an answer that others may be sent as it grows; `null` if they may not, or not any more. */
  get streamed(): StoredHead | null {
    const decision = this.#decision
    if (decision?.to !== 'store' || decision.tags.length > 0 || this.#isBehind) return null
    return this.#capture?.recording.isWhole === true ? decision.head : null
  }

  /** Whether the client of another request may be sent the answer as it grows. @param selection of that request */
  mayFollow(selection: Selection, head: StoredHead): boolean {
    return selection.mayHave(head) && this.#watched?.isAlike(this.#client.selection, selection) === true
  }

  /** Others wait for it at this key, too. */
  awaitedAt(key: string): void {
    this.#keys.push(key)
  }

  /** Sends the answer to the client of another request, too. */
  follow(follower: Follower): void {
    this.#followers.add(follower)
    this.#capture?.recording.follow(follower)
  }

  /** A client that follows has gone. */
  unfollow(follower: Follower): void {
    this.#followers.delete(follower)
    this.#capture?.leave(follower)
  }

  /** A client that follows can take more. */
  goOn(): void {
    this.#capture?.goOn()
  }

  /** Has the handler answer this client alone, as if there were no cache. */
  pass(forwarded: Forwarded): void {
    this.#state = 'passed'
    const why = { forwarded, detail: 'pass' }
    this.#response.setHeader('Cache-Status', cacheStatusText(why))
    tellHandler(this.#request, { ...why, background: this.#isBehind })
    this.#run()
  }

  /** How the answer ended. */
  async ended(): Promise<Ended> {
    if (this.#capture === null) return { state: 'broken', why: 'it never began' }
    const ended = await this.#capture.recording.ended
    const names = this.#decision !== null && 'names' in this.#decision ? this.#decision.names : []
    const late = this.#seen === 'all' ? ['all'] : [...this.#seen].filter((name) => !names.includes(name))
    // What is too large to be kept is watched for those who follow it.
    void this.#capture.recording.over.then(() => this.#watched?.release())
    if (late.length === 0 || ended.state !== 'complete') return ended
    return { state: 'unfit', why: `it has read ${late.join(', ')} after its head` }
  }

  /** The response is as it was before the handler, for something else to be sent. */
  reset(before: readonly FieldLine[]): void {
    this.#capture?.release()
    this.#watched?.release()
    for (const name of this.#response.getHeaderNames()) this.#response.removeHeader(name)
    for (const [name, value] of before) this.#response.appendHeader(name, value)
  }

  get #audience(): Audience | null {
    const { waiters, hardTimeout: patience, isBehind } = this.#about
    const isAwaited = (): boolean => this.#keys.some((key) => waiters.hasOther(key, this.#client))
    // With HTTP/2 a connection is that of many requests.
    const socket = isHttp2(this.#request) ? null : this.#request.socket
    return isBehind ? null : { socket, isAwaited, patience }
  }

  get #seen(): SeenFields {
    return this.#watched?.seen ?? none
  }

  /** What the handler writes from now on may differ for others who say something else in this field. */
  #seenLate(name: string | null): void {
    if (this.#decision === null || this.#followers.size === 0 || this.#seen === none) return
    const { selection } = this.#client
    // In their fields they are alike.
    if (name === null || selection.isKeyable(name)) return
    this.#capture?.recording.cut(() => true)
  }

  #passed(why: string): Decision {
    const names = this.#decision !== null && 'names' in this.#decision ? this.#decision.names : []
    const isAlike = this.#client.selection.before === '' && !this.#isLeft
    return { to: 'pass', why, names: isAlike || names.includes(beforeName) ? names : [...names, beforeName] }
  }

  /** It is for its own client alone. */
  #pass(): void {
    this.#capture?.pass()
    this.#watched?.releaseSurroundings()
  }

  #courseOf(head: Head): Course {
    const decide = (): Course => this.#decide(head)
    try {
      // What the user's options read of a request is not read by the handler.
      return this.#watched?.fields.unwatched(decide) ?? decide()
    } catch (error) {
      // Its client has its answer all the same: whoever answers cannot help it, and would be asked again.
      this.#error = error as Error
      return this.#isBehind ? { to: 'nobody' } : { to: 'client', with: [] }
    }
  }

  #decide(head: Head): Course {
    const inner = head.lines.filter((line) => !this.#outer.has(String(line)))
    const decided = this.#decider.decide({ ...head, lines: inner }, this.#old, this.#seen)
    const decision = this.#isLeft ? this.#passed('stacked') : decided
    this.#decision = decision
    if (decision.to === 'pass') this.#pass()
    if (this.#isBehind || decision.to === 'drop' || decision.to === 'store again') return { to: 'nobody' }
    const course = { to: 'client', with: this.#said(decision), late: (name: string) => this.#refuse(name) } as const
    // What it has asked of the cache was hidden from the handler.
    const part = decision.to === 'pass' ? partFor(this.#client.asked, head, Date.now()) : null
    if (part === null) return course
    sayPart(this.#response, part)
    return { ...course, cut: cutting(part) }
  }

  /** What stands before the cache has changed a field when the head was decided upon. */
  #refuse(field: string): readonly FieldLine[] {
    if (this.#decision === null) return []
    if (this.#decision.to !== 'pass') {
      this.#decision = this.#passed(`late:${field}`)
      this.#pass()
    }
    return this.#said(this.#decision)
  }

  #said(decision: Decision): readonly FieldLine[] {
    const detail = decision.to === 'pass' ? decision.why : undefined
    const status = { forwarded: this.#forwarded, stored: decision.to === 'store' }
    return [['Cache-Status', cacheStatusText(detail === undefined ? status : { ...status, detail })]]
  }
}
