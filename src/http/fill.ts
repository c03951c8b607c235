import type { IncomingMessage, ServerResponse } from 'node:http'
import { cacheStatusText, type Forwarded } from './cache-status.ts'
import { Capture, type Course, type Head } from './capture.ts'
import { CleanRequest, type SeenFields } from './clean-request.ts'
import { Decider, type Decision, type Old } from './decision.ts'
import { finished } from './detached.ts'
import { fieldOf, fieldsOf, type FieldLine, type Fields } from './policy/fields.ts'
import type { Ended, Follower } from './recording.ts'
import { selectedBy } from './policy/vary.ts'
import { linesOf } from './response-arguments.ts'
import type { ResponsePlan } from './response-options.ts'
import type { StoredHead, StoredResponse } from './stored-response.ts'

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
  #isPassed = false
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

  get hasBegun(): boolean {
    return this.#isPassed || this.#capture !== null
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
    const { cookies, honorRequestDirectives: honors } = this.#plan
    const hides = [
      ...(cookies === 'hide' ? ['cookie'] : []),
      ...(honors && old === null ? [] : ['cache-control', 'pragma']),
    ]
    const onSee = (name: string | null): void => this.#seenLate(name)
    // The user's own key may leave the host out.
    const keyed = this.#plan.key === null ? ['host'] : []
    this.#clean = new CleanRequest(this.#request, { hides, keyed, conditions, onSee })
    const most = this.#plan.maxBody(this.#request)
    this.#capture = new Capture(this.#response, (head) => this.#courseOf(head), most, this.#clean)
    if (this.#isBehind)
      void this.#capture.recording.ended.then(({ state }) => state === 'broken' || finished(this.#response))
    this.#run()
    await this.#capture.head
    this.#onDecided()
    if (this.#error !== null) throw this.#error
    return this.#decision
  }

  /** Its client is answered otherwise: the handler is not to answer it any more. */
  forgo(): void {
    this.#isPassed = true
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
    this.#isPassed = true
    this.#response.setHeader('Cache-Status', cacheStatusText({ forwarded, detail: 'pass' }))
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
    if (this.#plan.undeclared === 'ignore') return none
    return this.#clean?.seen ?? none
  }

  /** What the handler writes from now on may differ for others who say something else in this field. */
  #seenLate(name: string | null): void {
    if (this.#decision === null || this.#followers.size === 0 || this.#plan.undeclared === 'ignore') return
    const own = name === null ? null : selectedBy([name], this.#headers)
    this.#capture?.recording.cut((follower) => {
      const fields = this.#followers.get(follower) ?? {}
      return name === null || selectedBy([name], fields) !== own
    })
  }

  #courseOf(head: Head): Course {
    try {
      return this.#decide(head)
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

/** What asks a handler whether a stored response is still right. */
function conditionsOf({ status, lines }: StoredResponse): Record<string, string> {
  if (status !== 200) return {}
  const fields = fieldsOf(lines)
  const [etag, lastModified] = [fieldOf(fields, 'etag'), fieldOf(fields, 'last-modified')]
  return {
    ...(etag === null ? {} : { 'if-none-match': etag }),
    ...(lastModified === null ? {} : { 'if-modified-since': lastModified }),
  }
}
