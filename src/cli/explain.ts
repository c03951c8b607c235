import type { Explanation } from '../core/cache/explain.ts'
import { longestLife } from '../core/time/duration.ts'
import { openCache } from '../core/cache/create.ts'
import { checkKey } from '../core/entry/key.ts'
import { redisStore } from '../redis/index.ts'
import { connected, patience } from './connected.ts'
import { asJson, asLine } from './lines.ts'
import { parsed, planned, targetIn, targetOptions, understood, UsageError } from './target.ts'

const help = `Usage: herdless explain [options] <redis url> <key>

Says what is known of a key: whether there is a value and why not, who loads it, and who waits. It changes nothing.
Without a URL it takes that of REDIS_URL.

  --namespace <name>   the namespace of the cache (default herdless)
  --cluster            the URLs, one or several, are nodes of a cluster
  --sentinel <name>    the URLs are sentinels of the master of this name
  --tls-ca <file>      the authority that signed the certificate of a rediss:// server, in PEM
  --json               what it says as one line of JSON
  --help               this text

Ends with 0, or with 2 if nobody could be asked.`

const options = {
  ...targetOptions,
  namespace: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const

/** Runs `herdless explain`; resolves with the exit code. */
export async function explain(args: readonly string[]): Promise<number> {
  const { values, positionals } = parsed(args, options)
  if (values.help === true) return (console.log(help), 0)
  const key = positionals.at(-1)
  // A lone URL is not taken for a key, because the output would show its password.
  if (key === undefined || (positionals.length === 1 && /^rediss?:\/\//i.test(key))) {
    throw new UsageError('Expected a key behind the URL')
  }
  const target = targetIn(values, positionals.slice(0, -1))
  understood(() => checkKey(key))
  const { namespace } = planned({ namespace: values.namespace })
  const explanation = await connected(target, async (client) => {
    const settings = { namespace, grace: longestLife, commandTimeout: patience }
    await using cache = openCache(settings, () => redisStore(client, { wakeUp: 'poll' }))
    return await cache.explain(key)
  })
  const { here: _, ...told } = explanation
  console.log(values.json === true ? asJson(told) : asText(explanation, namespace))
  return explanation.state === 'unknown' ? 2 : 0
}

function asText({ key, state, because, value, load }: Explanation, namespace: string): string {
  const lines = [`${JSON.stringify(key)} in namespace ${namespace}: ${state}`, '', ...because]
  if (value !== null) {
    const { age, ttl, grace, size, loadTime, tags } = value
    const tagged = tags.length === 0 ? 'none' : tags.map((tag) => JSON.stringify(tag)).join(', ')
    lines.push('', asLine('value', { age, ttl, grace, size, loadTime }), `       tags: ${tagged}`)
  }
  if (load !== null) {
    const { token, fence, age, left, renewals, waiting } = load
    lines.push('', asLine('load', { token, fence, age, left, renewals, waiting }))
  }
  return lines.join('\n')
}
