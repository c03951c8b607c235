/** A wrapped function is called as the one that was wrapped. */
import { createCache, loadContext, type Wrapped } from 'herdless'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

/** Compiles if the two types are one. */
const same = <A, B>(areSame: Same<A, B>): boolean => areSame

interface User {
  readonly id: number
  readonly name: string
}
const cache = createCache()

// An asynchronous function keeps its signature, with the names of its parameters and the optional ones.
const byId = cache.wrap(
  async (id: number, locale?: string): Promise<User> => {
    loadContext()?.ttl('5m')
    return { id, name: locale ?? 'Ada' }
  },
  { key: 'user', ttl: '1m', grace: '1h' },
)
same<ReturnType<typeof byId>, Promise<User>>(true)
same<Parameters<typeof byId>, [id: number, locale?: string | undefined]>(true)
const ada: User = await byId(1)
const key: string = byId.keyOf(1, 'de')
const refreshed: User = await byId.refresh(1)
await byId.invalidate(1, 'de')
const peeked = await byId.peek(1)
if (peeked.state !== 'missing') same<typeof peeked.value, User>(true)
console.log(ada, key, refreshed)
// @ts-expect-error: an id is a number
await byId('1')
// @ts-expect-error: likewise
byId.keyOf('1')
// @ts-expect-error: too many
await byId.invalidate(1, 'de', 2)

// What is synchronous, or returns now this and now that, or something like a promise, returns a promise.
same<ReturnType<Wrapped<(id: number) => User>>, Promise<User>>(true)
same<ReturnType<Wrapped<(id: number) => User | Promise<User>>>, Promise<User>>(true)
same<ReturnType<Wrapped<(id: number) => PromiseLike<User>>>, Promise<User>>(true)
interface Fluent<T> extends Promise<T> {
  posts(): Promise<string[]>
}
same<ReturnType<Wrapped<(id: number) => Fluent<User>>>, Promise<User>>(true)
same<ReturnType<Wrapped<() => ReturnType<typeof JSON.parse>>>, Promise<ReturnType<typeof JSON.parse>>>(true)

// Type parameters and overloads are kept.
const first = cache.wrap(async <T extends string | number>(items: readonly T[]): Promise<T | undefined> => items[0], {
  key: 'first',
})
same<Awaited<ReturnType<typeof first<'a' | 'b'>>>, 'a' | 'b' | undefined>(true)
function find(id: number): Promise<User>
function find(name: string): Promise<User[]>
async function find(asked: number | string): Promise<User | User[]> {
  return typeof asked === 'number' ? { id: asked, name: '' } : []
}
const found = cache.wrap(find, { key: 'find' })
const one: User = await found(1)
const many: User[] = await found('Ada')
console.log(one, many)

// The properties of a function are not those of the wrapped one.
const counted = cache.wrap(
  Object.assign(async (id: number) => id, { calls: 0 }),
  { key: 'counted' },
)
same<Parameters<typeof counted>, [id: number]>(true)
// @ts-expect-error: it has none
console.log(counted.calls)

// A function that makes keys is given what the wrapped one is given.
const parsed = cache.wrap(async (url: URL, depth: number) => url.host.length + depth, {
  key: (url, depth) => `parsed:${url.href}:${depth.toFixed(0)}`,
})
const host: number = await parsed(new URL('https://example.org'), 1)
console.log(host)
// @ts-expect-error: a key is a string
cache.wrap(async (id: number) => id, { key: (id) => id })
// @ts-expect-error: without a key there would be none for two functions
cache.wrap(async (id: number) => id, { ttl: '1m' })
// @ts-expect-error: a signal is for one call
cache.wrap(async (id: number) => id, { key: 'a', signal: AbortSignal.timeout(1) })
// @ts-expect-error: there is no such option
cache.wrap(async (id: number) => id, { key: 'a', tll: '1m' })

// `this` is passed on, so it must be there.
const table = {
  table: 'users',
  row: cache.wrap(
    async function (this: { table: string }, id: number) {
      return `${this.table}:${id}`
    },
    { key: 'row' },
  ),
}
const row: string = await table.row(1)
const again: string = await table.row.refresh.call(table, 1)
console.log(row, again)
// @ts-expect-error: here `this` would be the function
await table.row.refresh(1)
