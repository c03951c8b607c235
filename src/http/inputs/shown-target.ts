import { withoutIgnored, type QueryRule } from '../options/query-rule.ts'

/** A request, or an object of a framework that keeps its URL. */
type Target = Record<string, unknown>

/**
 * Removes the ignored parameters from the URL that a handler sees, because its answer is for clients that sent others.
 * @param request the request of node:http
 * @param others objects of a framework that keep its URL or its parsed query
 * @returns a function that restores what nobody has changed since
 */
export function hideIgnored(request: object, others: readonly object[], rule: QueryRule): () => void {
  const undo: (() => void)[] = []
  const show = (target: Target, name: string, value: unknown): void => {
    const before = target[name]
    target[name] = value
    undo.push(() => void (target[name] === value && (target[name] = before)))
  }
  const shorten = (target: Target): void => {
    for (const name of ['url', 'originalUrl']) {
      if (!Object.hasOwn(target, name)) continue
      const url = String(target[name])
      const shown = withoutIgnored(url, rule)
      if (shown !== url) show(target, name, shown)
    }
  }
  shorten(request as Target)
  // Without an ignored parameter, which most requests are, nothing else has one.
  if (undo.length === 0) return () => undefined
  for (const target of others as readonly Target[]) {
    shorten(target)
    const query = Object.hasOwn(target, 'query') ? target['query'] : undefined
    if (typeof query === 'object' && query !== null) show(target, 'query', withoutIgnoredIn(query, rule))
  }
  return () => {
    for (const each of undo.splice(0)) each()
  }
}

/** A parsed query without the ignored parameters. */
function withoutIgnoredIn(query: object, rule: QueryRule): object {
  const kept = Object.entries(query).filter(([name]) => !rule(name))
  return Object.assign(Object.create(Object.getPrototypeOf(query) as object | null) as object, Object.fromEntries(kept))
}
