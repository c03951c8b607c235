/**
 * Deliberate breaks of what stands between the cache of responses and a framework, as those in mutations.mjs.
 *
 * @type {import('./core.mjs').Mutation[]}
 */
export const adapterMutations = [
  ...breaks('koa/index', [
    ['what is run behind an answer begins with 200', 'res.statusCode = statusCode', ''],
    ['Koa answers once more what the cache has answered', 'context.respond = false', 'void context'],
    ['a mounted app has the addresses that it sees', 'req.originalUrl ??= context.originalUrl', ''],
    ['nobody waits for the handler', 'await next()', 'void next()'],
  ]),
  ...breaks('fastify/index', [
    ['what hooks have said is not said by the cache', 'raw.setHeader(name, value)', 'void value'],
    ['what hooks have said cannot be taken back', 'raw.removeHeader(name)', 'void name'],
    ['what hooks have said is stored behind an answer', 'else reply.removeHeader(name)', ''],
    [
      'the cache hijacks the reply',
      'void responses.handle(',
      ';(reply as never as { hijack(): void }).hijack(); void responses.handle(',
    ],
  ]),
  ...breaks('hono/index', [
    ['what middleware has said is not said by the cache', 'outgoing.appendHeader(name, value)', 'void value'],
    ['what middleware has said cannot be taken back', 'outgoing.removeHeader(name)', 'void name'],
    ['what middleware has said is stored behind an answer', 'else context.header(name)', ''],
    [
      'what is read through Hono is not seen',
      'context.req.raw = seenThrough(context.req.raw, incoming, sent)',
      'void seenThrough',
    ],
    ['that it has been sent is not heeded', 'void response.body', ''],
    [
      'what has been sent is a 200',
      'new Response(null, { status, headers',
      'new Response(null, { status: status && 200, headers',
    ],
    ['nobody waits for the handler', '      await next()', '      void next()'],
  ]),
  ...breaks('hono/request', [
    [
      'a request that is a true one keeps its fields',
      'return new Request(new Request(urlSeen(raw, incoming), raw), { headers: own })',
      'return raw',
    ],
    ['what was made of the request before is there', 'copies.has(name) ? undefined : ', ''],
    ['the body of a request is read twice', "if (raw.method !== 'GET' && raw.method !== 'HEAD') return raw", ''],
    ['each field that is read is all of them', "name === 'get') return", "name === 'gets') return"],
    ['what is set is not there', 'changed = all', 'void all'],
  ]),
]

/**
 * @param {string} file
 * @param {string[][]} list what is so then, and the text that becomes another
 * @returns {import('./core.mjs').Mutation[]}
 */
function breaks(file, list) {
  const tests = [`test/http/${file.split('/')[0]}.test.ts`]
  return list.map(([name = '', from = '', to = '']) => {
    return { name: `${file}: ${name}`, rule: null, file: `src/${file}.ts`, from, to, tests }
  })
}
