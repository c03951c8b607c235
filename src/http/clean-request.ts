import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { inspect } from 'node:util'
import { Overrides } from './overrides.ts'

/** What a client asks of a cache, or of a part or a state of the answer: whoever fills is not misled by it. */
const asked = 'range if-range if-match if-none-match if-modified-since if-unmodified-since'.split(' ')

/** How the message came, and what is said of a body that it has not: nothing that may be in an answer for others. */
const ofTheMessage = [
  ...'connection keep-alive proxy-connection te trailer transfer-encoding upgrade expect'.split(' '),
  ...'content-length content-type content-encoding'.split(' '),
]

/** What selects no answer though it is shown: what caches are told. */
const forCaches = ['cache-control', 'pragma']

/** Which fields of its request a handler has read; `'all'` if it looked at them without naming any. */
export type SeenFields = ReadonlySet<string> | 'all'

/** A request as a handler sees it that fills: without what its client asks for itself alone, and heeding what is read. */
export class CleanRequest {
  /** Whether what is read now is read by the handler. */
  isWatched = true
  readonly #unselective: ReadonlySet<string>
  readonly #overrides: Overrides
  readonly #seen = new Set<string>()
  readonly #onSee: (name: string | null) => void
  #all = false

  /**
   * @param hides the names of more fields that the handler does not see
   * @param keyed those that are part of the key in any case
   * @param conditions fields that ask it whether a stored answer is still right
   * @param onSee told the name of each field when it is first read; `null` for all
   */
  constructor(
    request: IncomingMessage,
    {
      hides = [],
      keyed = [],
      conditions = {},
      onSee = () => undefined,
    }: {
      hides?: readonly string[]
      keyed?: readonly string[]
      conditions?: Readonly<Record<string, string>>
      onSee?: (name: string | null) => void
    } = {},
  ) {
    const { headers, headersDistinct, rawHeaders } = request
    this.#onSee = onSee
    const hidden = new Set([...asked, ...ofTheMessage, ...hides])
    this.#unselective = new Set([...hidden, ...forCaches, ...keyed])
    const visible = (name: string): boolean => !hidden.has(name.toLowerCase())
    const shown = { ...Object.fromEntries(Object.entries(headers).filter(([name]) => visible(name))), ...conditions }
    const watched = this.#watched(shown)
    this.#overrides = new Overrides(request)
    this.#overrides.value('headers', watched)
    this.#whole('headersDistinct', {
      ...Object.fromEntries(Object.entries(headersDistinct).filter(([name]) => visible(name))),
      ...Object.fromEntries(Object.entries(conditions).map(([name, value]) => [name, [value]])),
    })
    const raw = rawHeaders.filter((_, index) => visible(rawHeaders[index - (index % 2)] ?? ''))
    this.#whole('rawHeaders', [...raw, ...Object.entries(conditions).flat()])
  }

  /** What has been read so far that may select the answer. */
  get seen(): SeenFields {
    return this.#all ? 'all' : this.#seen
  }

  /** Does something that is not the handler's. */
  unwatched<T>(work: () => T): T {
    const { isWatched } = this
    this.isWatched = false
    try {
      return work()
    } finally {
      this.isWatched = isWatched
    }
  }

  /** The request is as it was. */
  release(): void {
    this.#overrides.undo()
  }

  /** A property that shows all fields at once. */
  #whole(name: string, value: unknown): void {
    const see = (): unknown => {
      this.#seeAll()
      return value
    }
    this.#overrides.set(name, { get: see, set: (other) => this.#overrides.value(name, other) })
  }

  #seeAll(): void {
    if (!this.isWatched) return
    this.#all = true
    this.#onSee(null)
  }

  #see(name: string): void {
    if (!this.isWatched || this.#unselective.has(name) || this.#seen.has(name)) return
    this.#seen.add(name)
    this.#onSee(name)
  }

  #watched(headers: IncomingHttpHeaders): IncomingHttpHeaders {
    const see = (name: string | symbol): void => {
      if (typeof name === 'string') this.#see(name.toLowerCase())
    }
    // Whoever inspects a proxy looks through it at what is behind: so the fields are not there, and are shown on being asked.
    const behind = { [inspect.custom]: () => (this.#seeAll(), headers) }
    return new Proxy<IncomingHttpHeaders>(behind, {
      get: (_, name) => (see(name), Reflect.get(headers, name) as unknown),
      has: (_, name) => (see(name), Reflect.has(headers, name)),
      getOwnPropertyDescriptor: (_, name) => (see(name), Reflect.getOwnPropertyDescriptor(headers, name)),
      ownKeys: () => (this.#seeAll(), Reflect.ownKeys(headers)),
      set: (_, name, value) => Reflect.set(headers, name, value),
      defineProperty: (_, name, descriptor) =>
        Reflect.defineProperty(headers, name, { ...descriptor, configurable: true }),
      deleteProperty: (_, name) => Reflect.deleteProperty(headers, name),
    })
  }
}
