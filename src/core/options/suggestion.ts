/** Options by the names that other caches give them, in lower case: what to write here. */
const meant: Readonly<Record<string, string>> = {
  ...names('ttl', 'maxAge expire expires expiresIn expiration timeToLive ex px lifetime freshFor cacheTtl stdTtl'),
  ...names('grace', 'staleWhileRevalidate swr staleTtl stale staleIfError gracePeriod maxStale allowStale'),
  ...names('namespace', 'keyPrefix prefix ns cacheName'),
  ...names('near', 'l1 local localCache memory lru inMemory memoryCache'),
  ...names('codec', 'serializer serialize serialization parser transformer superjson'),
  ...names('leaseTtl', 'lockTtl lockTimeout leaseTimeout leaseTime'),
  ...names('hardTimeout', 'timeout loadTimeout loaderTimeout fetchTimeout'),
  ...names('negativeTtl', 'nullTtl negativeCache negativeCaching ttlOfNull'),
  ...names('failureCooldown', 'errorTtl failureTtl cooldown retryAfter'),
  ...names('refreshAhead', 'eagerRefresh refreshThreshold earlyExpiration refreshBefore'),
  ...names('maxValueSize', 'maxSize maxEntrySize maxBytes'),
  ...names('tags', 'tag groups group'),
  ...names('schema', 'checkValue validate validator'),
  ...names('store', 'redis client connection redisClient stores storage backend adapter'),
}

function names(name: string, others: string): Record<string, string> {
  return Object.fromEntries(others.split(' ').map((other) => [other.toLowerCase(), name]))
}

/**
 * The known name that an unknown one stands for: the name of the same option elsewhere, or the nearest in letters.
 * @param known the names to choose from
 * @returns `null` if none is near
 */
export function suggestion(unknown: string, known: readonly string[]): string | null {
  const word = unknown.slice(0, 60).toLowerCase().replaceAll(/[_-]/g, '')
  const other = Object.hasOwn(meant, word) ? meant[word] : undefined
  const isClient = other === 'store' && /redis|client|connection/.test(word)
  if (other !== undefined && known.includes(other)) return isClient ? `store: redisStore(${unknown})` : other
  const distances = known.map((name) => ({ name, distance: distanceOf(word, name.toLowerCase()) }))
  const [nearest] = distances.toSorted((one, next) => one.distance - next.distance)
  return nearest !== undefined && nearest.distance <= Math.min(2, (word.length - 1) / 2) ? nearest.name : null
}

/** How many letters are to be added, left out, changed or swapped with their neighbour (optimal string alignment). */
function distanceOf(one: string, other: string): number {
  let [before, last]: [number[], number[]] = [[], Array.from({ length: other.length + 1 }, (_, index) => index)]
  for (let i = 1; i <= one.length; i++) {
    const row = [i]
    for (let j = 1; j <= other.length; j++) {
      const changed = at(last, j - 1) + (one[i - 1] === other[j - 1] ? 0 : 1)
      const swapped = one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1] ? at(before, j - 2) + 1 : changed
      row.push(Math.min(at(last, j) + 1, at(row, j - 1) + 1, changed, swapped))
    }
    ;[before, last] = [last, row]
  }
  return at(last, other.length)
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY
}
