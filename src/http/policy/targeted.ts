import { directivesOf, type Directives } from './directives.ts'
import { fieldOf, type Fields } from './fields.ts'
import { dictionaryOf, type Item } from './structured-dictionary.ts'

/** What a response tells a cache, and in which field: Expires counts only beside Cache-Control. */
export interface CacheControl {
  readonly directives: Directives
  /** The lower-case name of the field the directives are of. */
  readonly field: string
}

const everyCacheOfACdn: readonly string[] = ['cdn-cache-control']

/**
 * RFC 9213 section 2.2: the first of the targeted fields that is there, not empty and without an error tells all; then
 * Cache-Control and Expires tell nothing. Without one, Cache-Control does.
 * @param targets lower-case names, the first the most particular
 */
export function cacheControlOf(fields: Fields, targets: readonly string[] = everyCacheOfACdn): CacheControl {
  for (const field of targets) {
    const text = fieldOf(fields, field)
    const members = text === null ? null : dictionaryOf(text)
    if (members === null || members.size === 0) continue
    return { directives: directivesFrom(members), field }
  }
  return { directives: directivesOf(fieldOf(fields, 'cache-control')), field: 'cache-control' }
}

/** RFC 9213 section 2.1: a directive without a value is a true boolean, a number an integer; what is false is not said. */
function directivesFrom(members: ReadonlyMap<string, Item>): Directives {
  const directives = new Map<string, (string | null)[]>()
  for (const [name, item] of members) {
    if (item.type !== 'boolean') directives.set(name, [argumentOf(item)])
    else if (item.value) directives.set(name, [null])
  }
  return directives
}

/**
 * RFC 9213 section 2.1: a value of another type than a directive's is none. Numbers are all that is told apart here, so a
 * quoted one is not well-formed, as what no directive has: a decimal, a list.
 */
function argumentOf(item: Item): string {
  if (item.type === 'integer' || item.type === 'token') return String(item.value)
  return item.type === 'string' && !/^\d+$/.test(item.value) ? item.value : ` ${item.value}`
}
