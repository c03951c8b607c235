import type { IncomingMessage, ServerResponse } from 'node:http'
import { tellHandler } from './cache-info.ts'
import { cacheStatusText, type Forwarded } from './cache-status.ts'
import { Capture, type Course, type Head } from './capture.ts'
import { CleanRequest, type SeenFields } from './clean-request.ts'
import { Decider, type Decision, type Old } from './decision.ts'
import { finished } from './detached.ts'
import type { FieldLine, Fields } from './policy/fields.ts'
import type { Ended, Follower } from './recording.ts'
import { selectedBy } from './policy/vary.ts'
import { linesOf } from './response-arguments.ts'
import type { ResponsePlan } from './response-options.ts'
import type { StoredHead } from './stored-response.ts'
import { conditionsOf } from './validators.ts'

const none: ReadonlySet<string> = new Set()

/** What is said here is said of the whole answer, whoever says it: of what stands before the cache, too. */
const ofTheWhole: ReadonlySet<string> = new Set(['cache-control', 'cdn-cache-control', 'expires', 'vary'])

/** One run of the handler, whose answer is for more than its client. */
export class Fill {
  /** Resolves when it is known what becomes of the answer. */
  readonly decided: Promise<void>
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #plan: ResponsePlan
  readonly #decider: Decider
  readonly #run: () => void
  readonly #isBehind: boolean
  readonly #outer: ReadonlySet<string>
  /** As the client sent them. */
  readonly #headers: Fields
  #onDecided!: () => void
  #clean: CleanRequest | null = null
  #capture: Capture | null = null
  #old: Old | null = null
  #forwarded: Forwarded = 'uri-miss'
  #decision: Decision | null = null
  #state: 'open' | 'forgone' | 'passed' | 'begun' = 'open'
  #ignoresUndeclared = false
  /** What an option has thrown. */
  #error: Error | null = null
  readonly #followers = new Map<Follower, Fields>()

  /**
   * @param about.run has the handler answer
   * @param about.isBehind whether its client has been answered already
   */
  constructor(about: {
    request: IncomingMessage
    response: ServerResponse
    plan: ResponsePlan
    defaultTtl: number
    run: () => void
    isBehind?: boolean
  }) {
    this.#request = about.request
    this.#response = about.response
    this.#plan = about.plan
    this.#decider = new Decider(about.request, about.plan, about.defaultTtl)
    this.#run = about.run
    this.#isBehind = about.isBehind ?? false
    this.#headers = about.request.headers
    this.decided = new Promise((resolve) => (this.#onDecided = resolve))
    // What stands before says it anew with each answer.
    const lines = linesOf(about.response).filter(([name]) => !ofTheWhole.has(name.toLowerCase()))
    this.#outer = new Set(lines.map(String))
  }

  /** Whether the handler may be run: its client waits, and nobody else has answered it meanwhile. */
  get isOpen(): boolean {
    const { headersSent, destroyed } = this.#response
    return this.#state === 'open' && (this.#isBehind || !(headersSent || destroyed))
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
    const conditions = old === null ? {} : conditionsOf(old.stored)
    const plan = this.#plan
    const request = this.#request
    this.#ignoresUndeclared = plan.undeclared(request) === 'ignore'
    const hides = [
      ...(plan.cookies(request) === 'hide' ? ['cookie'] : []),
      ...(plan.honorRequestDirectives(request) && old === null ? [] : ['cache-control', 'pragma']),
    ]
    const onSee = (name: string | null): void => this.#seenLate(name)
    // The user's own key may leave the host out.
    const keyed = plan.key === null ? ['host'] : []
    const most = plan.maxBody(request)
    // From here on none of the user's options can throw, and leave its client without an answer.
    this.#state = 'begun'
    this.#clean = new CleanRequest(request, { hides, keyed, conditions, onSee })
    this.#capture = new Capture(this.#response, (head) => this.#courseOf(head), most, this.#clean)
    if (this.#isBehind)
      void this.#capture.recording.ended.then(({ state }) => state === 'broken' || finished(this.#response))
    tellHandler(this.#request, { forwarded, detail: null, background: this.#isBehind })
    this.#run()
    await this.#capture.head
    this.#onDecided()
    if (this.#error !== null) throw this.#error
    return this.#decision
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

  /** The head of an answer that others may be sent as it grows; `null` if they may not, or not any more. */
  get streamed(): StoredHead | null {
    const decision = this.#decision
    if (decision?.to !== 'store' || decision.tags.length > 0 || this.#isBehind) return null
    return this.#capture?.recording.isWhole === true ? decision.head : null
  }

  /** Sends the answer to the client of another request, too. @param fields those of that request */
  follow(follower: Follower, fields: Fields): void {
    this.#followers.set(follower, fields)
    this.#capture?.recording.follow(follower)
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
    this.#clean?.release()
    if (late.length === 0 || ended.state !== 'complete') return ended
    return { state: 'unfit', why: `it has read ${late.join(', ')} after its head` }
  }

  /** The response is as it was before the handler, for something else to be sent. */
  reset(before: readonly FieldLine[]): void {
    this.#capture?.release()
    this.#clean?.release()
    for (const name of this.#response.getHeaderNames()) this.#response.removeHeader(name)
    for (const [name, value] of before) this.#response.appendHeader(name, value)
  }

  /** Of the fields that the handler has read, those that count. */
  get #seen(): SeenFields {
    if (this.#ignoresUndeclared) return none
    return this.#clean?.seen ?? none
  }

  /** What the handler writes from now on may differ for others who say something else in this field. */
  #seenLate(name: string | null): void {
    if (this.#decision === null || this.#followers.size === 0 || this.#ignoresUndeclared) return
    const own = name === null ? null : selectedBy([name], this.#headers)
    this.#capture?.recording.cut((follower) => {
      const fields = this.#followers.get(follower) ?? {}
      return name === null || selectedBy([name], fields) !== own
    })
  }

  #courseOf(head: Head): Course {
    const decide = (): Course => this.#decide(head)
    try {
      // What the user's options read of a request is not read by the handler.
      return this.#clean?.unwatched(decide) ?? decide()
    } catch (error) {
      // Its client has its answer all the same: whoever answers cannot help it, and would be asked again.
      this.#error = error as Error
      return this.#isBehind ? { to: 'nobody' } : { to: 'client', with: [] }
    }
  }

  #decide(head: Head): Course {
    const inner = head.lines.filter((line) => !this.#outer.has(String(line)))
    const decision = this.#decider.decide({ ...head, lines: inner }, this.#old, this.#seen)
    this.#decision = decision
    if (decision.to === 'pass') this.#capture?.pass()
    if (this.#isBehind || decision.to === 'drop' || decision.to === 'store again') return { to: 'nobody' }
    const stored = decision.to === 'store'
    const detail = decision.to === 'pass' ? decision.why : undefined
    const status = { forwarded: this.#forwarded, stored, ...(detail === undefined ? {} : { detail }) }
    return { to: 'client', with: [['Cache-Status', cacheStatusText(status)]] }
  }
}
