/** For what nobody waits for: where it fails, something else makes up for it, and whoever calls this knows what. */
export function quietly(work: Promise<unknown>): void {
  work.catch(() => undefined)
}
