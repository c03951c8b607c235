import type { IncomingMessage } from 'node:http'
import { Overrides } from '../message/overrides.ts'
import type { Fields } from '../policy/fields.ts'
import { normalizedField } from '../policy/vary.ts'
import { watchedWhereKept } from './kept-headers.ts'
import { filledWhenRead, watchedHeaders, type FieldReads } from './watched-collections.ts'

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

/** All fields at once, as an input: a handler that lists them may have read any. No key can name it. */
export const allFields: string = '*'

/**
 * The inputs that a handler has read: names of fields, names with a leading colon of other inputs, and `allFields` if it
 * listed the fields.
 */
export type SeenFields = ReadonlySet<string>

/** The arguments of `WatchedFields`. */
export interface WatchedFieldsAbout {
  /** A copy of the fields as they were sent. */
  readonly fields: Fields
  /** Names of further hidden fields. */
  readonly hides: readonly string[]
  /** Names of fields that are always part of the key. */
  readonly keyed: readonly string[]
  /** Fields that are not of the client, and ask the handler to validate a stored response. */
  readonly conditions: Readonly<Record<string, string>>
  /** Called with the name of an input when it is first read. */
  readonly onSee: (name: string) => void
  /** Whether an input that is not a field can be part of the key. */
  readonly isKeyable: (name: string) => boolean
  /** Whether reads of fields are recorded. */
  readonly isHeard: boolean
}

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
  readonly #onSee: (name: string) => void
  /**
   * Shows the hidden fields again after a read that makes the answer private, so that the rest of it is right for its
   * client.
   */
  readonly #reveal: (name: string) => void
  #declares: ((name: string) => boolean) | null = null

  /** Replaces the fields of a request. */
  constructor(request: IncomingMessage, about: WatchedFieldsAbout) {
    const { fields, hides, keyed, conditions, onSee, isKeyable } = about
    this.#onSee = onSee
    this.#isHidden = (name) => hidden.has(name) || hides.includes(name)
    this.selects = (name) => !this.#isHidden(name) && !keyed.includes(name)
    const shown: Record<string, Fields[string]> = {}
    for (const name of Object.keys(fields)) if (!this.#isHidden(name)) shown[name] = shownValue(name, fields[name])
    Object.assign(shown, conditions)
    this.#reveal = (name) => {
      if (this.isWatched && !isKeyable(name)) for (const each of hides) if (each in fields) shown[each] = fields[each]
    }
    const { headers } = request
    this.#overrides = new Overrides(request)
    this.#releaseKept = this.#overrides.allOrNone(() => {
      this.#replaceFields(request, shown, about)
      return watchedWhereKept(headers, fields, (name) => {
        // A hidden field is visible only through an object that was kept earlier, so its value may be in the answer.
        if (this.#isHidden(name)) this.seeOther(`:req.headers.${name}`)
        else this.#see(name)
      })
    })
  }

  /**
   * Replaces `headers`, `rawHeaders` and `headersDistinct`.
   * @param shown the fields that `request.headers` shows
   */
  #replaceFields(request: IncomingMessage, shown: Fields, { conditions, isHeard }: WatchedFieldsAbout): void {
    const { rawHeaders } = request
    const raw = (): string[] => {
      const visible = rawHeaders.flatMap((value, index) => {
        const name = (rawHeaders[index - (index % 2)] ?? '').toLowerCase()
        if (this.#isHidden(name)) return []
        return [index % 2 === 0 ? value : (normalizedField(name, value) ?? value)]
      })
      return [...visible, ...Object.entries(conditions).flat()]
    }
    const reads: FieldReads = { onField: (name) => this.#see(name), onAll: () => this.#seeAll() }
    // `structuredClone` fails for a proxy, so without recording they are plain objects.
    this.#overrides.value('headers', isHeard ? watchedHeaders(shown, reads) : shown)
    this.#overrides.assign('rawHeaders', isHeard ? filledWhenRead([], raw, reads.onAll) : raw())
    // Injected requests and HTTP/2 requests do not have it.
    if (!('headersDistinct' in request)) return
    const distinct = (): Record<string, string[]> => distinctIn(raw())
    this.#overrides.value(
      'headersDistinct',
      isHeard ? filledWhenRead(emptyFields(), distinct, reads.onAll) : distinct(),
    )
  }

  /** The inputs read so far that may select the answer. */
  get seen(): SeenFields {
    return this.#seen
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

  /** Whether an input that is not a field is one that the key is made of. */
  isDeclared(name: string): boolean {
    return this.#declared.has(name)
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

  #seeAll(): void {
    this.#note(allFields)
  }

  #see(name: string): void {
    if (this.selects(name)) this.#note(name)
  }

  #note(name: string): void {
    if (!this.isWatched || this.#declares !== null || this.#seen.has(name)) return
    this.#seen.add(name)
    this.#onSee(name)
  }
}

/** The value of a field as the key has it: what the handler sees is what selects the variant. */
function shownValue(name: string, value: Fields[string]): Fields[string] {
  return typeof value === 'string' ? (normalizedField(name, value) ?? value) : value
}

/**
 * The values of each field, by lower-case name.
 * @param raw alternating names and values
 */
function distinctIn(raw: readonly string[]): Record<string, string[]> {
  const distinct = emptyFields()
  raw.forEach((name, index) => {
    if (index % 2 === 0) (distinct[name.toLowerCase()] ??= []).push(raw[index + 1] ?? '')
  })
  return distinct
}

function emptyFields(): Record<string, string[]> {
  return Object.create(null) as Record<string, string[]>
}
