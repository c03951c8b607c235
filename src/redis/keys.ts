/** The braces make a cluster keep the two keys of an entry together; the namespace before the key keeps them filled. */
export function valueKey(key: string): string {
  return `{${key}}`
}

/** Its lease: there only while a load runs, or for a while after one that brought no value. */
export function leaseKey(key: string): string {
  return `{${key}}:lease`
}
