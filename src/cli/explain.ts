import type { Command } from 'commander'
import type { Explanation } from '../core/cache/explain.ts'
import { longestLife } from '../core/time/duration.ts'
import { openCache } from '../core/cache/open-cache.ts'
import { checkKey } from '../core/entry/key.ts'
import { redisStore } from '../redis/index.ts'
import { connected, patience } from './connected.ts'
import { ending, UsageError } from './ending.ts'
import { asJson, asLine } from './lines.ts'
import { nothingIn, searchNamespace } from './namespaces.ts'
import { planned, takingTarget, targetIn, understood, type TargetOptions } from './target.ts'

interface ExplainOptions extends TargetOptions {
  readonly namespace?: string
  readonly json?: true
}

/** Adds `herdless explain`. */
export function addExplain(program: Command): void {
  const command = program
    .command('explain')
    .usage('[options] [redis url...] <key>')
    .summary('reports the state of a key: its value or the reason why there is none, its load, its waiters')
    .description(
      'Reports the state of a key: its value or the reason why there is none, the process that loads it, and the number of ' +
        'processes that wait. It changes nothing. Without a URL it takes that of the environment variable REDIS_URL.',
    )
    .argument('[words...]')
    .option('--namespace <name>', 'the namespace of the cache (default: herdless)')
    .option('--json', 'the report as one line of JSON')
    .addHelpText('after', '\nEnds with 0, or with 2 if nobody could be asked.')
    .action(ending(explain))
  takingTarget(command)
}

/** Resolves with the exit code. */
async function explain(words: readonly string[], options: ExplainOptions): Promise<number> {
  const key = words.at(-1)
  // A lone URL is not taken for a key, because the output would show its password.
  if (key === undefined || (words.length === 1 && /^rediss?:\/\//i.test(key))) {
    throw new UsageError('Expected a key behind the URL')
  }
  const target = targetIn(options, words.slice(0, -1))
  understood(() => checkKey(key))
  const { namespace } = planned({ namespace: options.namespace })
  const explanation = await connected(target, async (client) => {
    const settings = { namespace, grace: longestLife, commandTimeout: patience }
    await using cache = openCache(settings, () => redisStore(client, { wakeUp: 'poll' }))
    const its = await cache.explain(key)
    if (its.state !== 'missing' || its.value !== null || its.load !== null || its.rest !== null) return its
    // A user without the right to SCAN is told of the key alone.
    const search = await searchNamespace(client, namespace).catch(() => null)
    if (search === null || search.others.length === 0) return its
    return { ...its, because: [...its.because, nothingIn(namespace, search)] }
  })
  const { here: _, ...told } = explanation
  console.log(options.json === true ? asJson(told) : asText(explanation, namespace))
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
