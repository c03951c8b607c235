import { namespaceOf } from '../../core/entry/tags.ts'

/**
 * The key of a value. In a cluster, the braces keep both keys of an entry together; the namespace keeps them non-empty.
 */
export function valueKey(key: string): string {
  return `{${key}}`
}

/** The key of a namespace's epoch of tags. It collides with no value, because no key is empty. */
export function epochKey(name: string): string {
  return `{${namespaceOf(name) || ':'}}`
}

/** The key of the list of processes with copies of a namespace, in the slot of its epoch. */
export function copiesKey(name: string): string {
  return `${epochKey(name)}copies`
}

/** The key of the mode that an operator has set for a namespace, in the slot of its epoch. */
export function modeKey(name: string): string {
  return `${epochKey(name)}mode`
}

/** The key of a tag's epoch, in the slot of the namespace's epoch. */
export function tagKey(tag: string): string {
  const namespace = namespaceOf(tag)
  return `${epochKey(tag)}:${tag.slice(namespace.length)}`
}

/** The key of a lease. It exists while a load runs, and for a while after a load without a value. */
export function leaseKey(key: string): string {
  return `{${key}}:lease`
}

/** The Redis pattern of all leases whose keys begin with `prefix`; it must include the client's key prefix. */
export function leasePattern(prefix: string, keyPrefix: string): string {
  return `${literal(`${keyPrefix}{${prefix}`)}*}:lease`
}

/** The Redis pattern of all values whose keys begin with `prefix`; it must include the client's key prefix. */
export function valuePattern(prefix: string, keyPrefix: string): string {
  return `${literal(`${keyPrefix}{${prefix}`)}*}`
}

/** A pattern that a text matches, and no other. */
function literal(text: string): string {
  return text.replaceAll(/[\\*?[\]]/g, String.raw`\$&`)
}

/** The key of a value by the name of the value in Redis. */
export function keyOfValue(name: string, keyPrefix: string): string {
  return name.slice(keyPrefix.length + 1, -1)
}

/** The key of a lease by the name of the lease in Redis. */
export function keyOfLease(name: string, keyPrefix: string): string {
  return name.slice(keyPrefix.length + 1, -'}:lease'.length)
}
