/*
 * Room: inputs. An input is something by which answers differ. It has a name; a way to be seen: read by the handler, or
 * given before the cache; and a verdict: it becomes part of the key, or keeps the answer from being stored. Inputs are
 * request fields, properties that earlier middleware has set, and the connection; the names of inputs that are not
 * fields begin with a colon.
 *
 * Reading order: inputs.ts (the inputs of a request, as a text for keys), surroundings.ts (where a framework has them),
 * given.ts (what is compared on every hit), earlier-properties.ts (the properties that earlier middleware has set),
 * harmless.ts (those that count for nothing), changed-values.ts (parameters and queries that were changed),
 * watched-request.ts (everything that is watched while a handler runs), watched-fields.ts, watched-collections.ts and
 * kept-headers.ts (the fields), shown-target.ts (the address), async-stores.ts (stores of AsyncLocalStorage),
 * watched-surroundings.ts, watched-properties.ts, watched-computed.ts, watched-lines.ts and watched-socket.ts (the
 * rest), recorded-reads.ts (fields and address alone), visit.ts (several caches before one handler).
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { asyncName, AsyncStores, type Entered } from './async-stores.ts'
import { WatchedFields, type SeenFields } from './watched-fields.ts'
import type { ResponsePlan } from '../options/response-options.ts'
import type { Inputs } from './inputs.ts'
import type { Old } from '../stored/stored-response.ts'
import { hostField, lineFields } from '../message/http2.ts'
import { hideIgnored } from './shown-target.ts'
import type { EarlierProperties } from './earlier-properties.ts'
import { isPlain, type Surroundings } from './surroundings.ts'
import { conditionsOf } from '../stored/validators.ts'
import { WatchedSurroundings } from './watched-surroundings.ts'

/** A request, its surroundings and its selecting inputs. */
interface Visitor {
  readonly request: IncomingMessage
  readonly surroundings: Surroundings
  readonly inputs: Inputs
  /** What each AsyncLocalStorage held where the request has entered the cache; `null` for nothing. */
  readonly entered: Entered | null
}

/** The arguments of `WatchedRequest`. */
export interface WatchedRequestAbout {
  readonly client: Visitor
  /** The response that the handler writes to. */
  readonly response: ServerResponse
  /** The names of the fields that earlier middleware has set on the response, in lower case. */
  readonly earlierFields: readonly string[]
  readonly plan: ResponsePlan
  readonly earlierProperties: EarlierProperties
  /** The stored response that the handler validates; `null` for none. */
  readonly old: Old | null
  /** Whether the handler runs for a refresh, outside of what was entered for its client. */
  readonly isBehind: boolean
  /** Called with the name of an input when it is first read. */
  readonly onSee: (name: string) => void
  /** Called with the name of a field that earlier middleware has set, when the handler sets it. */
  readonly onSet: (name: string) => void
  /** Called before the handler ends the connection. */
  readonly onEnd: () => void
}

const none: ReadonlySet<string> = new Set()

/**
 * A request and its surroundings as the handler of a fill sees them. An input may be read after the answer was found
 * storable; `req.user` here is set by earlier middleware:
 *
 * 1. Ada asks, with `req.user` set, and leads. Bob asks for the same address, with his own `req.user`, and waits.
 * 2. The handler sends a head without having read `req.user`. The head is storable, and nothing that was read so far
 *    tells Ada from Bob.
 * 3. Bob does not follow the growing answer: `isAlike` holds only for requests around which nothing was set. He waits
 *    for the end.
 * 4. The handler reads `req.user.name` and writes it. The read is reported and joins `seen`.
 * 5. The answer ends. It has read an input that its key does not name, so it is not stored, and Bob's handler runs for
 *    him.
 *
 * Without step 3 Bob would be sent a page of Ada; without step 4 it would be stored for every request with a
 * `req.user`. A late read of the connection (`req.socket.remotePort`) is possible behind step 3, too, because only
 * fields and address are compared there: `Run` cuts the followers off at that read.
 */
export class WatchedRequest {
  readonly fields: WatchedFields
  readonly #surroundings: WatchedSurroundings | undefined
  #undoTarget: (() => void) | undefined
  readonly #stores: AsyncStores | null = null
  /** Whether reads that the response does not declare count for nothing. */
  readonly ignoresUndeclared: boolean

  /**
   * Replaces the properties that are watched.
   * @throws the error of an option of the user; the request is unchanged then
   */
  constructor(about: WatchedRequestAbout) {
    const { client, response, earlierFields, plan, earlierProperties, old, isBehind, onSee, onSet, onEnd } = about
    const { request, surroundings, entered } = client
    this.ignoresUndeclared = plan.undeclared(request) === 'ignore'
    const hides = [
      ...(plan.cookies(request) === 'hide' ? ['cookie'] : []),
      ...(plan.honorRequestDirectives(request) && old === null ? [] : ['cache-control', 'pragma']),
    ]
    // A key of the user's may leave out the host.
    const keyed = [...lineFields(request), ...(plan.key === null ? [hostField(request)] : [])]
    const conditions = old === null ? {} : conditionsOf(old.stored)
    const isKeyable = (name: string): boolean => client.inputs.isKeyable(name)
    const isHeard = !this.ignoresUndeclared
    client.inputs.detach()
    const { fields } = client.inputs
    this.fields = new WatchedFields(request, { fields, hides, keyed, conditions, onSee, isKeyable, isHeard })
    try {
      const heard = { onRead: this.fields.seeOther, onSet, onEnd }
      const rule = plan.query(request)
      if (rule !== null) this.#undoTarget = hideIgnored(request, surroundings.targets ?? [], rule)
      this.#surroundings = new WatchedSurroundings(
        { request, response, earlierFields },
        surroundings,
        earlierProperties,
        heard,
      )
    } catch (error) {
      this.release()
      throw error
    }
    const isHeardToo = isHeard && !plan.shared.includes(asyncName)
    this.#stores =
      entered === null || !isHeardToo
        ? null
        : new AsyncStores(entered, isBehind, {
            onRead: this.fields.seeOther,
            isDeclared: (name) => this.fields.isDeclared(name),
          })
    this.#declare(client, plan)
  }

  /** Runs the handler, whose reads of AsyncLocalStorage are recorded. */
  run(handler: () => void): void {
    if (this.#stores === null) handler()
    else this.#stores.run(handler)
  }

  /** The inputs read so far; none if `undeclared` is `'ignore'`. */
  get seen(): SeenFields {
    return this.ignoresUndeclared ? none : this.fields.seen
  }

  /** Whether every input that the handler may still read is the same in another request. */
  isAlike(own: Inputs, other: Inputs): boolean {
    if (this.ignoresUndeclared) return true
    return this.fields.unwatched(() => own.isAlike(other, (name) => this.fields.selects(name)))
  }

  /** Runs `work` without recording its reads. */
  unwatched<T>(work: () => T): T {
    return this.#surroundings === undefined ? work() : this.#surroundings.unwatched(() => this.fields.unwatched(work))
  }

  /** Ends the recording: the answer has ended. */
  endReads(): void {
    this.fields.isWatched = false
    this.#stores?.release()
  }

  /** Stops watching the surroundings, when the inputs of the answer no longer matter. */
  releaseSurroundings(): void {
    this.#surroundings?.release()
    this.#stores?.release()
  }

  /** Restores the request. */
  release(): void {
    this.#surroundings?.release()
    this.fields.release()
    this.#undoTarget?.()
    this.#stores?.release()
  }

  /** Lets the handler read every input that the key is made of. */
  #declare({ request, surroundings }: Visitor, { key, user }: ResponsePlan): void {
    try {
      if (user !== null) {
        this.fields.declare(
          () =>
            this.#stores === null ? user(surroundings.asker) : this.#stores.declare(() => user(surroundings.asker)),
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
      // The option did not throw when the key was made. The inputs it would have read count as undeclared.
    }
  }
}
