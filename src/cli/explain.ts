import type { Command } from 'commander'
import type { Explanation } from '../core/cache/explain.ts'
import { longestLife } from '../core/time/duration.ts'
import { openCache } from '../core/cache/open-cache.ts'
import { checkKey, Keyspace } from '../core/entry/key.ts'
import { redisStore, type RedisClient } from '../redis/index.ts'
import { connected, timeout } from './connected.ts'
import { ending, UsageError } from './ending.ts'
import { asJson, asLine, inUnits } from './lines.ts'
import { isKnown, namespaceFound, nothingIn } from './namespaces.ts'
import { painted, plain, wrapped } from './terminal.ts'
import { bytes, time } from './units.ts'
import { planned, takingTarget, targetIn, understood, type TargetOptions } from './target.ts'

interface ExplainOptions extends TargetOptions {
  readonly namespace?: string
  readonly key?: string
  readonly ofVersion?: string
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
    .option('--key <key>', 'the key; without this option, it is the last word')
    .option('--namespace <name>', 'the namespace of the cache (default: herdless, or the only one that there is)')
    .option('--of-version <version>', 'the value of this version, where caches have a `version`')
    .option('--json', 'the report as one line of JSON')
    .addHelpText('after', '\nEnds with 0, or with 2 if nobody could be asked.')
    .action(ending(explain))
  takingTarget(command)
}

/** Resolves with the exit code. */
async function explain(words: readonly string[], options: ExplainOptions): Promise<number> {
  const key = options.key ?? words.at(-1)
  // A lone URL is not taken for a key, because the output would show its password.
  if (key === undefined || (options.key === undefined && words.length === 1 && /^rediss?:\/\//i.test(key))) {
    throw new UsageError('Expected a key behind the URL')
  }
  const target = targetIn(options, options.key === undefined ? words.slice(0, -1) : words)
  understood(() => checkKey(key))
  const { namespace: given, ofVersion: version } = options
  planned({ namespace: given, version })
  const { namespace, explanation } = await connected(target, (client) => explained(client, { key, version }, given))
  const { here: _, ...told } = explanation
  console.log(options.json === true ? asJson({ namespace, ...told }) : asText(explanation, namespace))
  return explanation.state === 'unknown' ? 2 : 0
}

/** What is explained. */
interface Asked {
  readonly key: string
  readonly version: string | undefined
}

interface Explained {
  readonly namespace: string
  readonly explanation: Explanation
}

async function explained(client: RedisClient, asked: Asked, given: string | undefined): Promise<Explained> {
  const { namespace: first } = planned({ namespace: given })
  const explanation = await explanationIn(client, first, asked)
  if (!isNothing(explanation)) return { namespace: first, explanation }
  // The namespace may be mistyped, or left out.
  const { namespace, search } = await namespaceFound(client, given)
  if (namespace !== first) return { namespace, explanation: await explanationIn(client, namespace, asked) }
  if (search === null || search.others.length === 0) return { namespace, explanation }
  return {
    namespace,
    explanation: { ...explanation, because: [nothingIn(namespace, search), ...explanation.because] },
  }
}

async function explanationIn(client: RedisClient, namespace: string, { key, version }: Asked): Promise<Explanation> {
  const settings = { namespace, version, grace: longestLife, commandTimeout: timeout }
  await using cache = openCache(settings, () => redisStore(client, { wakeUp: 'poll' }))
  const explanation = await cache.explain(key)
  const hasVersions =
    version === undefined &&
    isNothing(explanation) &&
    (await isKnown(new Keyspace(namespace, null).versionsTag(key), client))
  return hasVersions ? { ...explanation, because: [...explanation.because, versionsSaid] } : explanation
}

const versionsSaid = 'The key has, or had, values of a version, or was purged: --of-version <version> reports on one'

/** Whether nothing is known of a key. */
function isNothing({ state, value, load, rest }: Explanation): boolean {
  return state === 'missing' && value === null && load === null && rest === null
}

const paints = { fresh: 'green', stale: 'yellow', missing: 'yellow', unknown: 'red' } as const

function asText({ key, state, because, value, load }: Explanation, namespace: string): string {
  const head = `${plain(`${JSON.stringify(key)} in namespace ${namespace}`)}: ${painted(paints[state], state)}`
  const lines = [head, '', ...because.map((each) => wrapped(inUnits(plain(each))))]
  if (value !== null) {
    const { age, ttl, grace, size, loadTime, tags } = value
    const tagged = tags.length === 0 ? 'none' : tags.map((tag) => JSON.stringify(tag)).join(', ')
    const times = { age: time(age), ttl: time(ttl), grace: time(grace), size: bytes(size), loadTime: time(loadTime) }
    lines.push('', wrapped(asLine('value', times), hanging), wrapped(plain(`${hanging}tags: ${tagged}`), hanging))
  }
  if (load !== null) {
    const { token, fence, age, left, renewals, waiting } = load
    lines.push(
      '',
      wrapped(asLine('load', { token, fence, age: time(age), left: time(left), renewals, waiting }), hanging),
    )
  }
  return lines.join('\n')
}

/** What stands before the further lines of what `asLine` makes. */
const hanging = ' '.repeat(7)
