import { directivesOf, type Directives } from './directives.ts'
import { fieldOf, type Fields } from './fields.ts'
import { dictionaryOf, type Item } from './structured-dictionary.ts'

/** The cache directives of a response, and the field that has them: Expires counts only beside Cache-Control. */
export interface CacheControl {
  readonly directives: Directives
  /** The lower-case name of the field that the directives come from. */
  readonly field: string
}

const everyCacheOfACdn: readonly string[] = ['cdn-cache-control']

/**
 * Selects the directives that apply to this cache (RFC 9213 section 2.2): those of the first targeted field that is
 * present, non-empty and well-formed, and then Cache-Control and Expires are ignored; otherwise those of Cache-Control.
 * @param targets lower-case names of targeted fields, the most specific first
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

/**
 * RFC 9213 section 2.1: a directive without a value is a true boolean, a number is an integer, and a false boolean is
 * an absent directive.
 */
function directivesFrom(members: ReadonlyMap<string, Item>): Directives {
  const directives = new Map<string, (string | null)[]>()
  for (const [name, item] of members) {
    if (item.type !== 'boolean') directives.set(name, [argumentOf(item)])
    else if (item.value) directives.set(name, [null])
  }
  return directives
}

/**
 * RFC 9213 section 2.1: a value of the wrong type is ignored. Numbers are the only type that the rules distinguish: a
 * quoted number becomes malformed, and so does a type that no directive has (a decimal, a list).
 */
function argumentOf(item: Item): string {
  if (item.type === 'integer' || item.type === 'token') return String(item.value)
  return item.type === 'string' && !/^\d+$/.test(item.value) ? item.value : ` ${item.value}`
}
