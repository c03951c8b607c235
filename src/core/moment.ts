/**
 * A place in the order of what happens in this process: the higher, the later.
 *
 * It carries the one rule of who may have which answer. Each caller notes the moment it *asked*; each answer has a
 * moment *as of* which it is known to be current: when the read or the claim it came from was sent, when a load without
 * a lease began, or, for a load whose fill was accepted, when the load ended (a lease that survived until then proves
 * that nothing was invalidated since it was granted). An answer is good for those who asked before. Whoever asked later
 * may have asked after an invalidation that the answer does not know of, and asks again.
 */
export type Moment = number

/** A source of moments. */
export function moments(): () => Moment {
  let last = 0
  return () => ++last
}
