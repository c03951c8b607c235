/**
 * Deliberate breaks of what stands between the cache of responses and a framework, as those in mutations.mjs.
 *
 * @type {import('./core.mjs').Mutation[]}
 */
export const adapterMutations = [
  {
    name: 'the interceptor does not look at the request behind that of Fastify',
    rule: null,
    file: 'src/nest/answer.ts',
    from: "    { name: 'request.raw', object: raw, isOwn: own.fastifyRaw, kind: 'request' },\n",
    to: '',
    tests: ['test/unit/nest'],
  },
  {
    name: 'the interceptor takes all versions of a handler for one',
    rule: null,
    file: 'src/nest/answer.ts',
    from: 'chosen === undefined ? []',
    to: 'chosen !== null ? []',
    tests: ['test/unit/nest'],
  },
  {
    name: 'the interceptor of Nest stores an answer for a request on which a guard has put a user',
    rule: 3,
    file: 'src/nest/answer.ts',
    from: 'const personal = property ?? field',
    to: 'const personal = field ?? (property && undefined)',
    tests: ['test/unit/nest'],
  },
  {
    name: 'the interceptor of Nest stores an answer whose handler has set a field',
    rule: 3,
    file: 'src/nest/answer.ts',
    from: ' || headOf() !== head)',
    to: ')',
    tests: ['test/unit/nest'],
  },
  {
    name: 'the interceptor of Nest stores an answer whose handler has read a request field',
    rule: 3,
    file: 'src/nest/answer.ts',
    from: 'else if (undeclared === undefined) await',
    to: 'else if (undeclared !== null) await',
    tests: ['test/unit/nest'],
  },
  {
    name: 'the interceptor of Nest has one key for all users',
    rule: 3,
    file: 'src/nest/answer.ts',
    from: ': `${key} for ${JSON.stringify(user)}`',
    to: ': key',
    tests: ['test/unit/nest'],
  },
  {
    name: 'the interceptor of Nest makes a key of the url where CacheKey says that there is none',
    rule: 3,
    file: 'src/nest/answer.ts',
    from: 'if (Reflect.getMetadata(metadata.key, context.getHandler()) !== undefined) {',
    to: "if ((await said(context, 'key', context)) !== undefined) {",
    tests: ['test/unit/nest'],
  },
  {
    name: 'the cache manager of Nest gets stale values',
    rule: 3,
    file: 'src/nest/cache-manager.ts',
    from: "'state' in each && each.state === 'fresh' ? each.value",
    to: "'value' in each ? each.value",
    tests: ['test/unit/nest'],
  },
  {
    name: 'what Next has rendered before its tags were updated is stored if nobody had asked for it',
    rule: 3,
    file: 'src/next/shared-cache.ts',
    from: 'if (updates.some(',
    to: 'if ([].some(',
    tests: ['test/unit/next'],
  },
  {
    name: 'a rendering of Next that has ended without a result keeps others waiting',
    rule: null,
    file: 'src/next/shared-cache.ts',
    from: 'if (open?.stale === null) this.#take(key)?.skip()',
    to: 'if (open?.stale === undefined && open !== undefined) this.#take(key)?.skip()',
    tests: ['test/unit/next'],
  },
  {
    name: 'an entry that others render anew is shown to Next as stale',
    rule: null,
    file: 'src/next/use-cache.ts',
    from: 'return isStale ?',
    to: 'return isStale && renders ?',
    tests: ['test/unit/next'],
  },
  ...breaks(
    'koa/index',
    ['test/http/koa.test.ts'],
    [
      ['Koa answers once more what the cache has answered', 'context.respond = false', 'void context'],
      ['a mounted app has the addresses that it sees', 'req.originalUrl ??= context.originalUrl', ''],
      ['nobody waits for the handler', 'await next()', 'void next()'],
    ],
  ),
  ...breaks(
    'fastify/index',
    ['test/http/fastify.test.ts'],
    [
      ['what hooks have said is not said by the cache', 'raw.setHeader(name, value)', 'void value'],
      ['what hooks have said cannot be taken back', 'raw.removeHeader(name)', 'void name'],
      ['what hooks have said is stored behind an answer', 'else reply.removeHeader(name)', ''],
      [
        'the cache hijacks the reply',
        'void responses.handle(',
        ';(reply as never as { hijack(): void }).hijack(); void responses.handle(',
      ],
    ],
  ),
  ...breaks(
    'hono/index',
    ['test/http/hono.test.ts'],
    [
      ['what middleware has said is not said by the cache', 'outgoing.appendHeader(name, value)', 'void value'],
      ['what middleware has said cannot be taken back', 'outgoing.removeHeader(name)', 'void name'],
      ['what middleware has said is stored behind an answer', 'else context.header(name)', ''],
      [
        'what is read through Hono is not seen',
        'context.req.raw = seenThrough(raw, incoming, sent)',
        'void seenThrough',
      ],
      ['that it has been sent is not heeded', 'void response.body', ''],
      [
        'what has been sent is a 200',
        'new Response(null, { status, headers',
        'new Response(null, { status: status && 200, headers',
      ],
      ['nobody waits for the handler', 'sent)\n      await next()', 'sent)\n      void next()'],
    ],
  ),
  ...breaks(
    'hono/index',
    ['test/http/inject.test.ts'],
    [
      [
        'what middleware has said of `c.res` is lost',
        'for (const [name, value] of again) context.header(name, value, { append: true })',
        '',
      ],
    ],
  ),
  ...breaks(
    'hono/request',
    ['test/http/hono.test.ts'],
    [
      [
        'a request that is a true one keeps its fields',
        'return new Request(new Request(urlSeen(raw.url, incoming), raw), { headers: own })',
        'return raw',
      ],
      ['what was made of the request before is there', 'copies.has(name) ? undefined : ', ''],
      ['the body of a request is read twice', "if (raw.method !== 'GET' && raw.method !== 'HEAD') return raw", ''],
    ],
  ),
  ...breaks(
    'http/server/fetch-shown',
    ['test/http/fetch.test.ts', 'test/http/hono.test.ts'],
    [
      ['each field that is read is all of them', "name === 'get') return", "name === 'gets') return"],
      ['what is set is not there', 'changed = all', 'void all'],
      ['what a runtime adds to its requests is not seen', 'watchMore(request, onCopy)', 'void watchMore'],
      ['a copy of a request is not seen', 'void allOf(incoming)', 'void 0'],
      ['every read of a request is one of its state', 'if (!isKept) return', 'return'],
      [
        'fields that somebody has taken before are not seen',
        "if (name !== 'constructor')",
        "if (name === 'constructor')",
      ],
      ['an ignored parameter is shown', "accessor(request, 'url', () => urlSeen(url, incoming))", ''],
      ['the handler learns that its client has gone', "accessor(request, 'signal', () => signal)", ''],
    ],
  ),
  ...breaks(
    'http/server/fetch-answer',
    ['test/http/fetch.test.ts', 'test/http/inject.test.ts'],
    [
      ['who waits has the error of another client', 'this.#isFailed = this.#isFailing', ''],
      ['a lost error is not told', 'return isAwaited', 'return true'],
      [
        'a client that cancels cuts the others off',
        'cancel: () => void this.#connection.destroy()',
        'cancel: () => void this.destroy()',
      ],
      [
        'an aborted request is awaited',
        "request.signal.addEventListener('abort'",
        "request.signal.addEventListener('none'",
      ],
      ['a slow client slows no handler down', 'return (this.#body?.desiredSize ?? 1) > 0', 'return true'],
      ['who follows waits for the first chunk', 'timers.setImmediate(() => void (this.#isOver || this.#begin()))', ''],
      ['an answer of Hono is forgotten before it is sent', 'if (!this.#isRead) this.#close()', 'this.#close()'],
      [
        'an answer of Hono without a body is never over',
        'if (!this.#isRead) this.#close()',
        'if (!this.#isUntilRead) this.#close()',
      ],
      ['an answer whose body is cancelled is never over', 'pull, cancel: over }', 'pull }'],
      [
        'a client that follows is waited for, however slow it is',
        "Object.defineProperty(this, 'writableLength', { configurable: true, get: waiting })",
        'void waiting',
      ],
      [
        'an answer of another library is stored for nobody',
        "typeof status === 'number' && hasBody",
        'status === -1 && hasBody',
      ],
    ],
  ),
  ...breaks(
    'http/server/fetch-request',
    ['test/http/fetch.test.ts'],
    [['another host has the same answer', 'host === incomingOf(request).headers.host', 'true']],
  ),
  ...breaks(
    'fetch/index',
    ['test/http/fetch.test.ts'],
    [
      ['what was given is not watched', "kind: 'request' }, ...parts]", "kind: 'request' }, ...(parts && [])]"],
      ['what was set on the request is not watched', 'isOwn: isOfRequest', 'isOwn: (key) => isOfRequest(key) || true'],
    ],
  ),
]

/**
 * @param {string} file
 * @param {string[]} tests
 * @param {string[][]} list what is so then, and the text that becomes another
 * @returns {import('./core.mjs').Mutation[]}
 */
function breaks(file, tests, list) {
  return list.map(([name = '', from = '', to = '']) => {
    return { name: `${file}: ${name}`, rule: null, file: `src/${file}.ts`, from, to, tests }
  })
}
