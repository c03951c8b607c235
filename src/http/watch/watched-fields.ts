import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { inspect } from 'node:util'
import { Overrides } from '../message/overrides.ts'
import { watchedWhereKept } from './kept-headers.ts'

/** What a client asks of a cache, or of a part or a state of the answer: whoever fills is not misled by it. */
const asked = 'range if-range if-match if-none-match if-modified-since if-unmodified-since'.split(' ')

/**
 * How the message came, and what is said of a body that it has not: nothing that may be in an answer for others. Not its
 * Content-Type: some servers reject a GET without one, against requests that any page can send.
 */
const ofTheMessage = [
  ...'connection keep-alive proxy-connection te trailer transfer-encoding upgrade expect'.split(' '),
  ...'content-length content-encoding'.split(' '),
]

const hidden: ReadonlySet<string> = new Set([...asked, ...ofTheMessage])

/** What selects no answer though it is shown: what caches are told. */
const forCaches: ReadonlySet<string> = new Set(['cache-control', 'pragma'])

/**
 * Which fields of its request a handler has read, and what else of it, with a colon before the name; `'all'` if it looked at
 * the fields without naming any.
 */
export type SeenFields = ReadonlySet<string> | 'all'

/** A request as a handler sees it that fills: without what its client asks for itself alone, and heeding what is read. */
export class WatchedFields {
  /** Whether what is read now is read by the handler. */
  isWatched = true
  readonly #isHidden: (name: string) => boolean
  readonly #isSelective: (name: string) => boolean
  readonly #overrides: Overrides
  readonly #releaseKept: () => void
  readonly #seen = new Set<string>()
  /** What may be read besides fields, for the key is made of it. */
  readonly #declared = new Set<string>()
  readonly #onSee: (name: string | null) => void
  /** What is for its own client alone by what was read is to be right for that client: nothing is hidden from then on. */
  readonly #reveal: (name: string) => void
  #all = false
  #declares: ((name: string) => boolean) | null = null

  /**
   * @param hides the names of more fields that the handler does not see
   * @param keyed those that are part of the key in any case
   * @param conditions fields that ask it whether a stored answer is still right
   * @param onSee told the name of each field when it is first read; `null` for all
   * @param isKeyable whether something that is no field can be part of the key
   * @param isHeard whether it matters what is read
   */
  constructor(
    request: IncomingMessage,
    {
      hides = [],
      keyed = [],
      conditions = {},
      onSee = () => undefined,
      isKeyable = () => false,
      isHeard = true,
    }: {
      hides?: readonly string[]
      keyed?: readonly string[]
      conditions?: Readonly<Record<string, string>>
      onSee?: (name: string | null) => void
      isKeyable?: (name: string) => boolean
      isHeard?: boolean
    } = {},
  ) {
    const { headers } = request
    this.#onSee = onSee
    this.#isHidden = (name) => hidden.has(name) || hides.includes(name)
    this.#isSelective = (name) => !this.#isHidden(name) && !forCaches.has(name) && !keyed.includes(name)
    const [shown, secret]: [IncomingHttpHeaders, IncomingHttpHeaders] = [{}, {}]
    for (const name of Object.keys(headers)) (this.#isHidden(name) ? secret : shown)[name] = headers[name]
    Object.assign(shown, conditions)
    this.#reveal = (name) => {
      if (this.isWatched && !isKeyable(name)) for (const each of hides) if (each in secret) shown[each] = secret[each]
    }
    this.#overrides = new Overrides(request)
    this.#releaseKept = this.#overrides.allOrNone(() => {
      // No proxy can be copied by structuredClone.
      this.#replaceFields(request, isHeard ? this.#watched(shown) : shown, conditions)
      return watchedWhereKept(headers, (name) => {
        // By another way than this it is not there.
        if (this.#isHidden(name)) this.seeOther(`:req.headers.${name}`)
        else this.#see(name)
      })
    })
  }

  /** @param shown by `request.headers` @param conditions that are not the client's */
  #replaceFields(
    request: IncomingMessage,
    shown: IncomingHttpHeaders,
    conditions: Readonly<Record<string, string>>,
  ): void {
    const { rawHeaders } = request
    const raw = (): string[] => {
      const visible = rawHeaders.filter((_, index) => {
        return !this.#isHidden((rawHeaders[index - (index % 2)] ?? '').toLowerCase())
      })
      return [...visible, ...Object.entries(conditions).flat()]
    }
    this.#overrides.value('headers', shown)
    this.#whole('rawHeaders', raw)
    // One that was made up, or has come by HTTP/2, has none.
    if ('headersDistinct' in request) this.#whole('headersDistinct', () => distinctIn(raw()))
  }

  /** What has been read so far that may select the answer. */
  get seen(): SeenFields {
    return this.#all ? 'all' : this.#seen
  }

  /** Whether a handler that reads this field may answer otherwise for others. */
  selects(name: string): boolean {
    return this.#isSelective(name)
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

  /** Heeds that something is read that is no field. @param name with a colon before it */
  readonly seeOther = (name: string): void => {
    if (this.#declares?.(name) === true) this.#declared.add(name)
    if (this.#declares !== null || this.#declared.has(name)) return
    this.#see(name)
    this.#reveal(name)
  }

  /**
   * Lets the handler read what something is made of that is no field.
   * @param counts whether what is read by this name is declared
   */
  declare(make: () => unknown, counts: (name: string) => boolean): void {
    this.#declares = counts
    try {
      make()
    } finally {
      this.#declares = null
    }
  }

  /** The request is as it was. */
  release(): void {
    this.#overrides.undo()
    this.#releaseKept()
  }

  /** A property that shows all fields at once. */
  #whole(name: string, make: () => unknown): void {
    let value: unknown
    const see = (): unknown => {
      this.#seeAll()
      return (value ??= make())
    }
    this.#overrides.set(name, { get: see, set: (other) => this.#overrides.value(name, other) })
  }

  #seeAll(): void {
    if (!this.isWatched || this.#declares !== null) return
    this.#all = true
    this.#onSee(null)
  }

  #see(name: string): void {
    if (!this.isWatched || this.#declares !== null || !this.#isSelective(name) || this.#seen.has(name)) return
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

/** All values of each field. @param raw names and values in turn */
function distinctIn(raw: readonly string[]): Record<string, string[]> {
  const distinct = Object.create(null) as Record<string, string[]>
  raw.forEach((name, index) => {
    if (index % 2 === 0) (distinct[name.toLowerCase()] ??= []).push(raw[index + 1] ?? '')
  })
  return distinct
}
