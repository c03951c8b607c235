/** What came of some work: what it returned, or what it threw. */
export type Outcome = { readonly value: unknown } | { readonly thrown: unknown }

export async function outcomeOf(work: () => unknown): Promise<Outcome> {
  try {
    return { value: await work() }
  } catch (thrown) {
    return { thrown }
  }
}
