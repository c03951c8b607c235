import type { IncomingMessage, ServerResponse } from 'node:http'
import { cacheStatusText, type Forwarded } from './cache-status.ts'
import { Capture, type Course, type Ended, type Head } from './capture.ts'
import { CleanRequest, type SeenFields } from './clean-request.ts'
import { Decider, type Decision, type Old } from './decision.ts'
import { finished } from './detached.ts'
import { fieldOf, fieldsOf, type FieldLine } from './policy/fields.ts'
import { linesOf } from './response-arguments.ts'
import type { ResponsePlan } from './response-options.ts'
import type { StoredResponse } from './stored-response.ts'

const none: ReadonlySet<string> = new Set()

/** What is said here is said of the whole answer, whoever says it: of what stands before the cache, too. */
const ofTheWhole: ReadonlySet<string> = new Set(['cache-control', 'cdn-cache-control', 'expires', 'vary'])

/** One run of the handler, whose answer is for more than its client. */
export class Fill {
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #plan: ResponsePlan
  readonly #decider: Decider
  readonly #run: () => void
  readonly #isBehind: boolean
  readonly #outer: ReadonlySet<string>
  #clean: CleanRequest | null = null
  #capture: Capture | null = null
  #old: Old | null = null
  #forwarded: Forwarded = 'uri-miss'
  #decision: Decision | null = null
  #isPassed = false
  /** What an option has thrown. */
  #error: Error | null = null

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
    this.#clean = new CleanRequest(this.#request, { hides, conditions })
    const most = this.#plan.maxBody(this.#request)
    this.#capture = new Capture(this.#response, (head) => this.#courseOf(head), most, this.#clean)
    if (this.#isBehind) void this.#capture.ended.then(({ state }) => state === 'broken' || finished(this.#response))
    this.#run()
    await this.#capture.head
    if (this.#error !== null) throw this.#error
    return this.#decision
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
    const ended = await this.#capture.ended
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
