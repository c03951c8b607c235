import { parse as ofNode } from 'node:querystring'
import { isDeepStrictEqual } from 'node:util'
import express, { type Request, type RequestHandler } from 'express'
import { parse as ofFastify } from 'fast-querystring'
import fc from 'fast-check'
import { HonoRequest } from 'hono/request'
import Koa from 'koa'
import { describe, expect, test } from 'vitest'
import { queryRule, withoutIgnored } from '../../src/http/options/query-rule.ts'
import { runs } from './runs.ts'

type Read = (target: string) => Record<string, unknown>

/** Version 4 has a middleware that reads it, version 5 a getter of the request. */
function ofExpress(parser: 'simple' | 'extended'): Read {
  const app = express().set('query parser', parser)
  const { query } = express as unknown as { query?: (options: object) => RequestHandler }
  const read = query?.({ queryParser: app.get('query parser fn') as unknown })
  return (url) => {
    const request = Object.assign(Object.create(app.request) as object, { url }) as Request
    void read?.(request, undefined as never, () => undefined)
    return request.query
  }
}

function ofKoa(): Read {
  const { request } = new Koa()
  return (url) => (Object.assign(Object.create(request) as object, { req: { url } }) as Koa.Request).query
}

function afterMark(target: string): string {
  const start = target.indexOf('?')
  return start === -1 ? '' : target.slice(start + 1)
}

/** How the frameworks, and what handlers use besides, read a query. */
const parsers: Readonly<Record<string, Read>> = {
  'Express, simple': ofExpress('simple'),
  'Express, extended': ofExpress('extended'),
  Koa: ofKoa(),
  Fastify: (target) => ofFastify(afterMark(target).split('#')[0] ?? ''),
  'Fastify, without an end': (target) => ofFastify(afterMark(target)),
  Hono: (target) => new HonoRequest(new Request(`http://a${target}`)).queries(),
  'new URL()': (target) => grouped(new URL(target, 'http://a').searchParams),
  URLSearchParams: (target) => grouped(new URLSearchParams(afterMark(target))),
  'semicolons, too': (target) => ofNode(afterMark(target).replaceAll(';', '&')),
}

function grouped(parameters: URLSearchParams): Record<string, unknown> {
  return Object.fromEntries([...parameters.keys()].map((name) => [name, parameters.getAll(name)]))
}

/** All that a handler may make use of. */
function used(read: Record<string, unknown>, isUsed: (name: string) => boolean): Record<string, unknown> {
  return Object.fromEntries(Object.entries(read).filter(([name]) => isUsed(name)))
}

const pieces = [
  'id utm a 7 8 %69d %75tm i%64',
  '= = & & & [ ] [] [$gt] %5B %5D %5b%5d ]= %5D=',
  '. ; + %20 %26 %3D %3B % %zz %00 %ff # %23 ? , __proto__ / \\',
].flatMap((some) => some.split(' '))

const targets = fc.array(fc.constantFrom(...pieces), { maxLength: 14 }).map((some) => `/item?${some.join('')}`)

describe.each(Object.entries(parsers))('%s', (_, parse) => {
  test.each([
    ['ignoreQuery', queryRule(['utm'], undefined), (name: string) => name !== 'utm'],
    ['allowQuery', queryRule(undefined, ['id']), (name: string) => name === 'id'],
  ])('reads the same in all targets that have one key with %s', (_, rule, isUsed) => {
    fc.assert(
      fc.property(targets, (target) => {
        const key = withoutIgnored(target, rule)
        // `toEqual` takes several times as long.
        expect(isDeepStrictEqual(used(parse(key), isUsed), used(parse(target), isUsed))).toBe(true)
      }),
      { numRuns: runs(20_000), seed: 16 },
    )
  })

  test('reads no more of a long query because others are left out', () => {
    const target = `/item?${'utm=1&'.repeat(2_000)}id=7`
    const key = withoutIgnored(target, queryRule(['utm'], undefined))
    expect(used(parse(key), (name) => name === 'id')).toEqual(used(parse(target), (name) => name === 'id'))
  })
})
