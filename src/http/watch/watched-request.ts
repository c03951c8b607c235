import type { IncomingMessage, ServerResponse } from 'node:http'
import { WatchedFields, type SeenFields } from './watched-fields.ts'
import type { ResponsePlan } from '../options/response-options.ts'
import type { Selection } from './selection.ts'
import type { Old } from '../stored/stored-response.ts'
import { hostField, lineFields } from '../message/http2.ts'
import { isPlain, type Standing, type Surroundings } from './surroundings.ts'
import { conditionsOf } from '../stored/validators.ts'
import { WatchedSurroundings } from './watched-surroundings.ts'

/** A request, and what is known of it. */
interface Visitor {
  readonly request: IncomingMessage
  readonly surroundings: Surroundings
  readonly selection: Selection
}

/** How a request is watched. */
export interface WatchedRequestAbout {
  readonly client: Visitor
  /** Where the handler answers. */
  readonly response: ServerResponse
  readonly plan: ResponsePlan
  readonly standing: Standing
  /** What the handler is asked about. */
  readonly old: Old | null
  /** Told the name of what is first read; `null` for all fields. */
  readonly onSee: (name: string | null) => void
  /** Told that the handler is about to end the connection. */
  readonly onEnd: () => void
}

const none: ReadonlySet<string> = new Set()

/** A request and all that stands around it, as a handler sees it that fills. */
export class WatchedRequest {
  readonly fields: WatchedFields
  readonly #surroundings: WatchedSurroundings
  readonly #ignoresUndeclared: boolean

  /** Throws what an option throws, before anything is changed. */
  constructor({ client, response, plan, standing, old, onSee, onEnd }: WatchedRequestAbout) {
    const { request, surroundings } = client
    this.#ignoresUndeclared = plan.undeclared(request) === 'ignore'
    const hides = [
      ...(plan.cookies(request) === 'hide' ? ['cookie'] : []),
      ...(plan.honorRequestDirectives(request) && old === null ? [] : ['cache-control', 'pragma']),
    ]
    // The user's own key may leave the host out.
    const keyed = [...lineFields(request), ...(plan.key === null ? [hostField(request)] : [])]
    const conditions = old === null ? {} : conditionsOf(old.stored)
    const isKeyable = (name: string): boolean => client.selection.isKeyable(name)
    const isHeard = !this.#ignoresUndeclared
    client.selection.detach()
    this.fields = new WatchedFields(request, { hides, keyed, conditions, onSee, isKeyable, isHeard })
    try {
      const heard = { onRead: this.fields.seeOther, onEnd }
      this.#surroundings = new WatchedSurroundings({ request, response }, surroundings, standing, heard)
    } catch (error) {
      this.fields.release()
      throw error
    }
    this.#declare(client, plan)
  }

  /** Of what the handler has read, what counts. */
  get seen(): SeenFields {
    return this.#ignoresUndeclared ? none : this.fields.seen
  }

  /** Whether whatever the handler may still read is the same in another request. */
  isAlike(own: Selection, other: Selection): boolean {
    if (this.#ignoresUndeclared) return true
    return this.fields.unwatched(() => own.isAlike(other, (name) => this.fields.selects(name)))
  }

  /** What the answer depends on does not matter any more. */
  releaseSurroundings(): void {
    this.#surroundings.release()
  }

  /** All is as it was. */
  release(): void {
    this.#surroundings.release()
    this.fields.release()
  }

  /** What the key is made of may be read. */
  #declare({ request, surroundings }: Visitor, { key, user }: ResponsePlan): void {
    try {
      if (user !== null) {
        this.fields.declare(
          () => user(surroundings.asker),
          () => true,
        )
      }
      if (key !== null) {
        this.fields.declare(
          () => key(request),
          (name) => isPlain(surroundings, name),
        )
      }
    } catch {
      // It has not thrown before: what it would have read goes for undeclared.
    }
  }
}
