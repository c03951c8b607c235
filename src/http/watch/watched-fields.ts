import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { inspect } from 'node:util'
import { Overrides } from '../message/overrides.ts'
import { watchedWhereKept } from './kept-headers.ts'

/**
 * Fields that ask for a part or a state of the answer. They are hidden from the handler of a fill, which must answer in
 * full.
 */
const asked = 'range if-range if-match if-none-match if-modified-since if-unmodified-since'.split(' ')

/**
 * Fields about the message, or about a body that a GET does not have; no shared answer may depend on them. Content-Type
 * is shown: some servers reject a GET without one, against requests that any web page can send.
 */
const ofTheMessage = [
  ...'connection keep-alive proxy-connection te trailer transfer-encoding upgrade expect'.split(' '),
  ...'content-length content-encoding'.split(' '),
]

const hidden: ReadonlySet<string> = new Set([...asked, ...ofTheMessage])

/** Fields that are shown but select no answer: directives for caches. */
const forCaches: ReadonlySet<string> = new Set(['cache-control', 'pragma'])

/**
 * The inputs that a handler has read: names of fields, and names with a leading colon of other inputs; `'all'` if it
 * listed the fields.
 */
export type SeenFields = ReadonlySet<string> | 'all'

/**
 * The fields of a request as the handler of a fill sees them: fields about this one client are hidden, and reads are
 * recorded.
 */
export class WatchedFields {
  /** Whether reads count as reads of the handler. */
  isWatched = true
  readonly #isHidden: (name: string) => boolean
  /** Whether an answer may depend on a field of this name once the handler has read it. */
  readonly selects: (name: string) => boolean
  readonly #overrides: Overrides
  readonly #releaseKept: () => void
  readonly #seen = new Set<string>()
  /** Inputs besides fields that the key is made of, so the handler may read them. */
  readonly #declared = new Set<string>()
  readonly #onSee: (name: string | null) => void
  /**
   * Shows the hidden fields again after a read that makes the answer private, so that the rest of it is right for its
   * client.
   */
  readonly #reveal: (name: string) => void
  #all = false
  #declares: ((name: string) => boolean) | null = null

  /**
   * Replaces the fields of a request.
   * @param hides names of further hidden fields
   * @param keyed names of fields that are always part of the key
   * @param conditions fields that ask the handler to validate a stored response
   * @param onSee called with the name of an input when it is first read; `null` for all fields at once
   * @param isKeyable whether an input that is not a field can be part of the key
   * @param isHeard whether reads of fields are recorded
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
    this.selects = (name) => !this.#isHidden(name) && !forCaches.has(name) && !keyed.includes(name)
    const [shown, secret]: [IncomingHttpHeaders, IncomingHttpHeaders] = [{}, {}]
    for (const name of Object.keys(headers)) (this.#isHidden(name) ? secret : shown)[name] = headers[name]
    Object.assign(shown, conditions)
    this.#reveal = (name) => {
      if (this.isWatched && !isKeyable(name)) for (const each of hides) if (each in secret) shown[each] = secret[each]
    }
    this.#overrides = new Overrides(request)
    this.#releaseKept = this.#overrides.allOrNone(() => {
      // `structuredClone` fails for a proxy, so without recording the fields are a plain object.
      this.#replaceFields(request, isHeard ? this.#watched(shown) : shown, conditions)
      return watchedWhereKept(headers, (name) => {
        // A hidden field is visible only through an object that was kept earlier, so its value may be in the answer.
        if (this.#isHidden(name)) this.seeOther(`:req.headers.${name}`)
        else this.#see(name)
      })
    })
  }

  /**
   * Replaces `headers`, `rawHeaders` and `headersDistinct`.
   * @param shown the fields that `request.headers` shows
   * @param conditions fields that are not of the client
   */
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
    // Injected requests and HTTP/2 requests do not have it.
    if ('headersDistinct' in request) this.#whole('headersDistinct', () => distinctIn(raw()))
  }

  /** The inputs read so far that may select the answer. */
  get seen(): SeenFields {
    return this.#all ? 'all' : this.#seen
  }

  /** Runs `work` without recording its reads. */
  unwatched<T>(work: () => T): T {
    const { isWatched } = this
    this.isWatched = false
    try {
      return work()
    } finally {
      this.isWatched = isWatched
    }
  }

  /**
   * Records a read of an input that is not a field.
   * @param name with a leading colon
   */
  readonly seeOther = (name: string): void => {
    if (this.#declares?.(name) === true) this.#declared.add(name)
    if (this.#declares !== null || this.#declared.has(name)) return
    this.#see(name)
    this.#reveal(name)
  }

  /**
   * Records the reads of `make` as declared: the handler may read the same inputs.
   * @param counts whether an input of this name is declared by being read
   */
  declare(make: () => unknown, counts: (name: string) => boolean): void {
    this.#declares = counts
    try {
      make()
    } finally {
      this.#declares = null
    }
  }

  /** Restores the request. */
  release(): void {
    this.#overrides.undo()
    this.#releaseKept()
  }

  /** Replaces a property that shows all fields at once. */
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
    if (!this.isWatched || this.#declares !== null || !this.selects(name) || this.#seen.has(name)) return
    this.#seen.add(name)
    this.#onSee(name)
  }

  #watched(headers: IncomingHttpHeaders): IncomingHttpHeaders {
    const see = (name: string | symbol): void => {
      if (typeof name === 'string') this.#see(name.toLowerCase())
    }
    // `util.inspect` looks through a proxy at its target. The target is therefore empty, and returns the fields through
    // a method that records the read.
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

/**
 * The values of each field, by lower-case name.
 * @param raw alternating names and values
 */
function distinctIn(raw: readonly string[]): Record<string, string[]> {
  const distinct = Object.create(null) as Record<string, string[]>
  raw.forEach((name, index) => {
    if (index % 2 === 0) (distinct[name.toLowerCase()] ??= []).push(raw[index + 1] ?? '')
  })
  return distinct
}
