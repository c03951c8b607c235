import { namespaceOf } from '../core/entry/tags.ts'

/** The braces make a cluster keep the two keys of an entry together; the namespace before the key keeps them filled. */
export function valueKey(key: string): string {
  return `{${key}}`
}

/** The epoch of the tags of a namespace: no key is empty. */
export function epochKey(name: string): string {
  return `{${namespaceOf(name) || ':'}}`
}

/** Whoever keeps copies of values of a namespace, where the epoch of its tags is. */
export function copiesKey(name: string): string {
  return `${epochKey(name)}copies`
}

/** The epoch of a tag, where that of its namespace is. */
export function tagKey(tag: string): string {
  const namespace = namespaceOf(tag)
  return `${epochKey(tag)}:${tag.slice(namespace.length)}`
}

/** Its lease: there only while a load runs, or for a while after one that brought no value. */
export function leaseKey(key: string): string {
  return `{${key}}:lease`
}

/** What the leases of all keys that begin so are called, as a pattern of Redis; the prefix of the client is of the name. */
export function leasePattern(prefix: string, keyPrefix: string): string {
  return `${keyPrefix}{${prefix}`.replaceAll(/[\\*?[\]]/g, String.raw`\$&`) + '*}:lease'
}

/** The key whose lease is called so. */
export function keyOfLease(name: string, keyPrefix: string): string {
  return name.slice(keyPrefix.length + 1, -'}:lease'.length)
}
