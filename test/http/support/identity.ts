import type { IncomingMessage, Server } from 'node:http'
import { describe, expect, test } from 'vitest'
import { until } from '../../../tools/until.mjs'
import type { CacheResponsesOptions } from '../../../src/express/index.ts'
import type { Cache } from '../../../src/index.ts'
import { Gate, siteOn, type Asked, type Reply, type Site } from './site.ts'

/** Makes the text of a page for one visitor, when the test lets it. */
export type PageFor = (name: string | undefined) => Promise<string>

/**
 * An app with a library before its cache, and two pages: `/who` names the visitor as the library knows them; `/same` is
 * `pageFor('all')` and reads nothing. It does not listen yet.
 */
export interface MakeApp {
  (cache: Cache, options: CacheResponsesOptions, pageFor: PageFor): Promise<Server>
  /** Names the visitor, as the option `user` of the cache. */
  readonly user?: CacheResponsesOptions<IncomingMessage, never>['user']
}

/** The request of one visitor. */
export interface Ask extends Asked {
  /** Default: `/who`. */
  readonly path?: string
}

/** The request of each visitor, by the name on their page; `nobody` is a visitor without a name. */
export type Visitors = Readonly<Record<string, Ask>>

/** Apps of several frameworks that know their visitors by the same means. */
export interface Identity {
  readonly apps: Readonly<Record<string, MakeApp>>
  /** A function signs its visitors in first. `'strangers'` send nothing, and each needs a page of their own. */
  readonly visitors: Visitors | ((site: Site) => Promise<Visitors>) | 'strangers'
  /** Options of the cache, tried one after the other. Default: none. */
  readonly options?: readonly CacheResponsesOptions[]
  /** Options with which the page of each visitor is stored for them alone, once `user` names them. Default: not tried. */
  readonly ofUsers?: CacheResponsesOptions
  /** Whether the last visitor may be answered from the cache at `/same`. Default: true. */
  readonly shares?: boolean
}

/** An object that keeps its visitor to itself: no property of its own tells. */
export class Hidden {
  readonly #who: string | undefined

  constructor(who: string | undefined) {
    this.#who = who
  }

  get who(): string | undefined {
    return this.#who
  }
}

/** The text of the page for one visitor. */
export function textFor(name: string | undefined): string {
  return `page for ${name ?? 'nobody'}`
}

/** No visitor is given the page of another: cold, warm, at once and during a refresh. */
export function tellsApart(name: string, identity: Identity): void {
  const { apps, visitors, options = [{}], ofUsers, shares = true } = identity
  const all = Object.entries(apps).flatMap(([frame, make]) => options.map((each) => ({ frame, make, options: each })))
  describe.each(all.map((app) => [titleOf(name, app), app] as const))('%s', (_title, app) => {
    /** A site and its visitors. */
    async function open({ gate, ...more }: CacheResponsesOptions & { gate?: Gate } = {}) {
      const pageFor: PageFor = async (who) => (await gate?.opened, textFor(who))
      const site = await siteOn((cache) => app.make(cache, { ttl: '1m', ...app.options, ...more }, pageFor))
      const isOwn = visitors === 'strangers' ? likeNoOther() : isFor
      const known = visitors === 'strangers' ? strangers : visitors
      const visits = new Visits(site, typeof known === 'function' ? await known(site) : known, isOwn)
      return { site, visits, [Symbol.asyncDispose]: () => site[Symbol.asyncDispose]() }
    }

    test('without a cache every visitor gets their own page', async () => {
      await using app = await open({ skip: () => true })
      expect(await app.visits.inTurn(app.visits.names[0] ?? '')).toEqual([])
    })

    test('cold and warm: every visitor gets their own page, in any order', async () => {
      await using app = await open()
      for (const first of app.visits.names) {
        for (const round of ['cold', 'warm', 'warm again'])
          expect([round, ...(await app.visits.inTurn(first))]).toEqual([round])
      }
    })

    test('at once: so do concurrent visitors', async () => {
      const gate = new Gate()
      await using app = await open({ gate })
      const wrong = app.visits.atOnce()
      await until('all requests have come', () => app.visits.areAllThere)
      gate.open()
      expect(await wrong).toEqual([])
    })

    test('stale: so do visitors around a refresh', async () => {
      await using app = await open({ ttl: 1, grace: '1m' })
      for (const first of app.visits.names) {
        for (let round = 0; round < 4; round++) expect(await app.visits.inTurn(first)).toEqual([])
      }
    })

    test.each(app.options === options[0] && ofUsers !== undefined ? [ofUsers] : [])(
      '`user` has a page stored for each visitor',
      async (more) => {
        const user = app.make.user as CacheResponsesOptions['user']
        await using site = await open({ ...more, user })
        // What is stored at the address of a page for everybody moves when a page of one user comes.
        for (const expected of [/stored|turned away/, /stored|hit|turned away/, /hit|turned away/]) {
          for (const name of site.visits.names) {
            const { wrong, status, cache } = await site.visits.visit(name)
            const how = status === 200 ? cache : 'turned away'
            expect([name, wrong, how]).toEqual([name, null, expect.stringMatching(expected)])
            await site.site.stored()
          }
        }
      },
    )

    if (!shares) return
    test('a page that reads no identity is shared', async () => {
      await using app = await open()
      for (const hit of [false, true]) {
        const { text, cache } = await app.visits.same()
        expect([text, cache.includes('hit')]).toEqual([textFor('all'), hit])
        await app.site.stored()
      }
    })
  })
}

type IsOwn = (name: string, reply: Reply) => boolean

/** A visitor without a name may be turned away. */
const isFor: IsOwn = (name, { status, text }) =>
  (status === 200 && text.includes(textFor(name))) || (name === 'nobody' && [400, 401, 403].includes(status))

const strangers: Visitors = { one: {}, another: {}, third: {} }

function likeNoOther(): IsOwn {
  const given = new Set<string>()
  return (_name, { status, text }) => status === 200 && text !== textFor(undefined) && given.size < given.add(text).size
}

/** Sends the visitors to a site and checks their pages. */
class Visits {
  readonly #site: Site
  readonly #visitors: Visitors
  readonly #isOwn: IsOwn
  #asked = 0

  constructor(site: Site, visitors: Visitors, isOwn: IsOwn) {
    this.#site = site
    this.#visitors = visitors
    this.#isOwn = isOwn
    this.#asked = site.requests
  }

  get names(): readonly string[] {
    return Object.keys(this.#visitors)
  }

  get areAllThere(): boolean {
    return this.#site.requests >= this.#asked
  }

  /** Sends them one by one, each after the last answer is stored; returns the wrong answers. */
  async inTurn(first: string): Promise<string[]> {
    const wrong: (string | null)[] = []
    const start = this.names.indexOf(first)
    for (const name of [...this.names.slice(start), ...this.names.slice(0, start)]) {
      // Each order has an address of its own, which is cold.
      wrong.push(await this.#ask(name, `first=${first}`))
      await this.#site.stored()
    }
    return wrong.filter((each) => each !== null)
  }

  /** Sends each of them three times, together; returns the wrong answers. */
  async atOnce(): Promise<string[]> {
    const all = [...this.names, ...this.names.toReversed(), ...this.names]
    const wrong = await Promise.all(all.map((name) => this.#ask(name)))
    return wrong.filter((each) => each !== null)
  }

  /** Sends one of them; returns the answer and what is wrong with it. */
  async visit(name: string): Promise<Reply & { readonly wrong: string | null }> {
    const reply = await this.#send(name)
    return { ...reply, wrong: this.#wrongIn(name, reply) }
  }

  /** Asks for `/same` as the last visitor. */
  async same(): Promise<Reply> {
    return await this.#site.ask('/same', this.#visitors[this.names.at(-1) ?? ''])
  }

  async #ask(name: string, query = ''): Promise<string | null> {
    return this.#wrongIn(name, await this.#send(name, query))
  }

  async #send(name: string, query = ''): Promise<Reply> {
    this.#asked++
    const { path = '/who', ...asked } = this.#visitors[name] ?? {}
    return await this.#site.ask(query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`, asked)
  }

  /** Describes a wrong answer; `null` for a right one. */
  #wrongIn(name: string, reply: Reply): string | null {
    return this.#isOwn(name, reply) ? null : `${name} is given: ${reply.status} ${reply.text} (${reply.cache})`
  }
}

function titleOf(name: string, { frame, options }: { frame: string; options: CacheResponsesOptions }): string {
  const said = Object.entries(options).map(([option, value]) => `, ${option}: '${String(value)}'`)
  return `${frame}: ${name}${said.join('')}`
}
