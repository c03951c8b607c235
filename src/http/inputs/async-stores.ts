import { AsyncLocalStorage } from 'node:async_hooks'

type Storage = AsyncLocalStorage<unknown>
type Method = (this: Storage, ...args: never[]) => unknown

/** The name of the stores of AsyncLocalStorage for the option `shared`. */
export const asyncName = 'async'

/**
 * Stores that tell no clients apart: those of tracers. By the name of the class of the store or of its storage, and the
 * version that it was seen in; a store of another name counts as an input.
 */
const harmless: ReadonlySet<string> = new Set([
  // The store of @opentelemetry/context-async-hooks 1.30 and 2.2
  'BaseContext',
  // The storage of dd-trace 5.30
  'DatadogStorage',
])

/** Callbacks for the reads of stores. */
export interface AsyncStoresHeard {
  /** Called with the name of an input, with a leading colon. */
  readonly onRead: (name: string) => void
  /** Whether an input is one that the key is made of. */
  readonly isDeclared: (name: string) => boolean
}

/** What storages held where a request has entered the cache, without those that hold nothing or tell nothing. */
export type Entered = ReadonlyMap<Storage, unknown>

/**
 * The stores of AsyncLocalStorage that were entered before the cache, as inputs of the handler of a fill. It reads them
 * without its request (`storage.getStore()`), so a page could reach another client that way. A handler may enter stores
 * of its own, which are no inputs: a storage held something else where the cache was entered.
 */
export class AsyncStores {
  readonly #entered: Entered
  readonly #isBehind: boolean
  readonly #heard: AsyncStoresHeard

  /**
   * @param isBehind whether the handler runs outside of the stores of its client, for a refresh
   */
  constructor(entered: Entered, isBehind: boolean, heard: AsyncStoresHeard) {
    this.#entered = entered
    this.#isBehind = isBehind
    this.#heard = heard
  }

  /** Runs the handler; from now on its reads are recorded. */
  run(handler: () => void): void {
    fills.run(this, handler)
  }

  /** Records what `make` reads, before the handler runs. */
  declare(make: () => unknown): void {
    fills.run(this, () => void make())
    fills.ended(this)
  }

  release(): void {
    fills.ended(this)
  }

  /** Whether a value is that of a storage where the cache was entered. */
  isOuter(storage: Storage, value: unknown): boolean {
    return this.#entered.get(storage) === value
  }

  /**
   * Records a read.
   * @param value what the storage holds for the handler
   * @returns what the handler is given: in a refresh of the page of a user, what the storage held for that user
   */
  read(storage: Storage, value: unknown): unknown {
    const outer = this.#entered.get(storage)
    if (outer === undefined || (value !== outer && !(this.#isBehind && value === undefined))) return value
    const name = `:${asyncName}#${[...this.#entered.keys()].indexOf(storage)}`
    this.#heard.onRead(name)
    return this.#isBehind && this.#heard.isDeclared(name) ? outer : value
  }
}

/** The fills of the process. Their storage is off while nothing fills: in Node.js 20 it makes promises slower. */
class Fills {
  readonly #storage = new AsyncLocalStorage<AsyncStores>()
  readonly #running = new Set<AsyncStores>()
  /** Whether a storage is about to be entered, for which Node.js 20 looks at what it holds. */
  #isEntering = false

  run(stores: AsyncStores, handler: () => void): void {
    this.#running.add(stores)
    Reflect.apply(run, this.#storage, [stores, handler])
  }

  ended(stores: AsyncStores): void {
    if (this.#running.delete(stores) && this.#running.size === 0) this.#storage.disable()
  }

  /**
   * Records a read for the fill within which it is made; and for the fill whose client has entered this object, because
   * a library may restore the context of a request by an `AsyncResource` of its own (@fastify/request-context).
   */
  read(storage: Storage, value: unknown): unknown {
    if (this.#running.size === 0 || this.#isEntering) return value
    const here = held<AsyncStores>(this.#storage)
    if (typeof value === 'object' && value !== null)
      for (const stores of this.#running)
        if (stores !== here && stores.isOuter(storage, value)) stores.read(storage, value)
    return here === undefined || !this.#running.has(here) ? value : here.read(storage, value)
  }

  /** Enters a store. */
  enter(storage: Storage, store: unknown, work: () => unknown): unknown {
    if (this.#running.size === 0) return Reflect.apply(run, storage, [store, work])
    this.#isEntering = true
    try {
      return Reflect.apply(run, storage, [store, () => ((this.#isEntering = false), work())]) as unknown
    } finally {
      this.#isEntering = false
    }
  }
}

/** The methods of Node.js itself. */
const [getStore, enterWith, run] = ['getStore', 'enterWith', 'run'].map((name) =>
  Reflect.get(AsyncLocalStorage.prototype, name),
) as [Method, Method, Method]

const fills = new Fills()

/** The storages that were entered since they are watched. */
class Storages {
  readonly #all = new Set<WeakRef<Storage>>()
  readonly #known = new WeakSet<Storage>()

  add(storage: Storage): void {
    if (this.#known.has(storage)) return
    this.#known.add(storage)
    if (!harmless.has(storage.constructor.name)) this.#all.add(new WeakRef(storage))
  }

  /** What they hold now; `null` if they hold nothing. */
  get entered(): Entered | null {
    let entered: Map<Storage, unknown> | null = null
    for (const reference of this.#all) {
      const storage = reference.deref()
      if (storage === undefined) this.#all.delete(reference)
      const store = storage === undefined ? undefined : held(storage)
      if (storage !== undefined && store !== undefined && !isHarmless(store))
        (entered ??= new Map()).set(storage, store)
    }
    return entered
  }
}

const storages = new Storages()

/** What the storages of the process hold now; `null` if they hold nothing. */
export function enteredStores(): Entered | null {
  return storages.entered
}

/** The prototypes whose methods are watched. */
const watched = new WeakSet<object>()

/** Watches all storages of the process from now on. */
export function watchStorages(): void {
  const kind = AsyncLocalStorage.prototype
  if (watched.has(kind)) return
  watched.add(kind)
  Object.assign(kind, {
    getStore(this: Storage): unknown {
      return fills.read(this, held(this))
    },
    enterWith(this: Storage, store: unknown): void {
      storages.add(this)
      Reflect.apply(enterWith, this, [store])
    },
    run(this: Storage, store: unknown, work: (...args: unknown[]) => unknown, ...args: unknown[]): unknown {
      storages.add(this)
      return fills.enter(this, store, () => work(...args))
    },
  })
}

/** What a storage holds, without it being a read. */
function held<T>(storage: AsyncLocalStorage<T>): T | undefined {
  return Reflect.apply(getStore, storage, []) as T | undefined
}

function isHarmless(store: unknown): boolean {
  return typeof store === 'object' && harmless.has(store?.constructor?.name ?? '')
}
