import type { Permits } from '../contract/permits.ts'
import { TokenSource } from '../lease/token.ts'
import { bothPlans, type SourcePlan } from '../options/source-plan.ts'
import type { Clock } from '../time/clock.ts'
import { Source, type SourceUse } from './source.ts'

/** A source of one store, and how many caches use it. */
interface Shared {
  readonly source: Source
  caches: number
}

/** The sources of the caches of this process, by the store that they share: caches with one store share its permits. */
const shared = new WeakMap<object, Map<string, Shared>>()

/** The sources of one cache. */
export class Sources {
  readonly #byName = new Map<string, Source>()
  readonly #offs: (() => void)[] = []
  readonly #ofStore: Map<string, Shared>

  /**
   * @param store the store of the cache
   * @param options.timeout the deadline of a command, in milliseconds
   * @param options.reported called with what this process holds of a source whenever that is reported
   */
  constructor(
    plans: ReadonlyMap<string, SourcePlan>,
    store: { readonly permits?: Permits | undefined },
    { reported, ...options }: { clock: Clock; timeout: number; reported: (use: SourceUse) => void },
  ) {
    this.#ofStore = shared.get(store) ?? new Map()
    shared.set(store, this.#ofStore)
    // Before any of them is used: it throws if another cache contradicts.
    const all = [...plans].map(([name, plan]) => {
      const other = this.#ofStore.get(name)?.source.plan
      return [name, other === undefined ? plan : bothPlans(name, other, plan)] as const
    })
    const permits = store.permits ?? null
    for (const [name, plan] of all) {
      const { source, caches } = this.#ofStore.get(name) ?? {
        source: new Source(name, plan, { permits, who: new TokenSource().next(), ...options }),
        caches: 0,
      }
      source.plan = plan
      this.#ofStore.set(name, { source, caches: caches + 1 })
      this.#byName.set(name, source)
      this.#offs.push(source.onReport(reported))
    }
  }

  /** The source of a load; `null` if it has none. */
  of(name: string | null): Source | null {
    return name === null ? null : (this.#byName.get(name) ?? null)
  }

  /** Ends the use of them; resolves when the store knows. */
  async close(): Promise<void> {
    for (const off of this.#offs.splice(0)) off()
    const leaving: Promise<void>[] = []
    for (const [name, source] of this.#byName) {
      const known = this.#ofStore.get(name)
      if (known === undefined || --known.caches > 0) continue
      this.#ofStore.delete(name)
      leaving.push(source.close())
    }
    await Promise.all(leaving)
  }
}
