import { failureOf, type CacheError } from './errors.ts'
import { fill } from './fill.ts'
import type { Ended } from './load.ts'
import type { Moment } from './moment.ts'
import type { Plan } from './plan.ts'
import { quietly } from './quietly.ts'
import type { Settlement } from './settlement.ts'
import type { Shared } from './shared.ts'
import type { Lease } from './store.ts'

/** Nobody joins a load that has ended: its value was fresh for all its callers. */
const always = Number.POSITIVE_INFINITY

/** Whose load it was. */
interface Whose {
  readonly key: string
  readonly plan: Plan
  readonly asked: Moment
}

/** Ends a lease with what came of its load. @param began when the loader was started */
export async function settled(
  shared: Shared,
  whose: Whose,
  lease: Lease,
  loaded: Ended,
  began: Moment,
): Promise<Settlement> {
  const { store, moment } = shared
  const asOf = moment()
  switch (loaded.state) {
    case 'value':
      return await filled(shared, whose, lease, loaded, began, asOf)
    case 'pass':
      quietly(store.pass(lease, loaded.passFor))
      return { state: 'pass', own: { value: loaded.value, caller: whose.asked } }
    case 'failed':
      return await failed(shared, whose, lease, loaded.error, began)
  }
}

/** Callers are answered when their value has been accepted. */
async function filled(
  shared: Shared,
  whose: Whose,
  lease: Lease,
  loaded: Ended & { state: 'value' },
  began: Moment,
  asOf: Moment,
): Promise<Settlement> {
  const { key, plan } = whose
  const { pacing } = shared
  const { value } = loaded
  const { token } = lease
  const filling = fill(shared, lease, key, plan, loaded)
  const filled = plan.answer === 'loaded' ? { state: 'filled' as const } : await filling
  switch (filled.state) {
    case 'filled':
      pacing.accepted(key)
      return { state: 'value', value, asOf, freshUntil: always, token }
    case 'refused':
      pacing.voided(key)
      return { state: 'again' }
    case 'unfit':
      return await failed(shared, whose, lease, filled.error, began)
    case 'unknown':
      // Only who asked before the load began can be sure that it is not too old.
      if (plan.onStoreFailure === 'throw') return { state: 'away', error: filled.error }
      return { state: 'value', value, asOf: began, freshUntil: always, token }
  }
}

/** An error is shared when it has been accepted as the outcome, as a value is. */
async function failed(
  { store, moment, pacing }: Shared,
  { key, plan }: Whose,
  lease: Lease,
  error: CacheError,
  began: Moment,
): Promise<Settlement> {
  try {
    if (await store.fail(lease, failureOf(error), plan.failureCooldown)) {
      pacing.accepted(key)
      return { state: 'failed', error, asOf: moment() }
    }
    pacing.voided(key)
    return { state: 'again' }
  } catch {
    return { state: 'failed', error, asOf: began }
  }
}
