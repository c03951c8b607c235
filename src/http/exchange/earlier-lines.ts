import { isOfTheAnswer } from './behind.ts'
import type { Head } from './redirect.ts'
import type { FieldLine } from '../policy/fields.ts'
import type { StoredHead } from '../stored/stored-response.ts'

/** The lines that earlier middleware has set on a response, apart from those of the handler. */
export class EarlierLines {
  /** The names of their fields, in lower case. */
  readonly names: readonly string[]
  /** Earlier middleware sets these lines on every answer again, so they are not stored. */
  readonly #again: ReadonlySet<string>
  readonly #setByHandler = new Set<string>()

  constructor(lines: readonly FieldLine[]) {
    this.names = lines.map(fieldName)
    this.#again = new Set(lines.filter(([name]) => !isOfTheAnswer(name)).map(String))
  }

  /** Notes that the handler sets a field, perhaps to the value that it has already. */
  readonly setByHandler = (name: string): void => void this.#setByHandler.add(name)

  /**
   * The part of a head that is the handler's own, and the names of the lines that it has removed.
   * @param refreshed the stored response that a refresh replaces: on its response there are no lines of earlier
   *   middleware, so those that are removed are known from the last time
   */
  ownOf(head: Head, refreshed: Pick<StoredHead, 'removed'> | null): Head & Pick<StoredHead, 'removed'> {
    if (refreshed !== null) return refreshed.removed === undefined ? head : { ...head, removed: refreshed.removed }
    if (this.names.length === 0) return head
    const lines = head.lines.filter((line) => !this.#again.has(String(line)) || this.#setByHandler.has(fieldName(line)))
    const names = new Set(head.lines.map(fieldName))
    const removed = this.names.filter((name) => !names.has(name))
    return removed.length === 0 ? { ...head, lines } : { ...head, lines, removed }
  }
}

function fieldName([name]: FieldLine): string {
  return name.toLowerCase()
}
