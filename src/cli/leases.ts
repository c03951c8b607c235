import { namespacePrefix } from '../core/entry/key.ts'
import { toldLease, type HeldLease } from '../core/cache/explain.ts'
import { redisStore } from '../redis/index.ts'
import { connected } from './connected.ts'
import { asJson, asLine } from './lines.ts'
import { parsed, planned, targetIn, targetOptions } from './target.ts'

const help = `Usage: herdless leases [options] <redis url>

Lists the loads that are under way, each with who loads and who waits. It goes through all keys of the server, a
thousand at a time, and changes nothing. Without a URL it takes that of REDIS_URL.

  --namespace <name>   of this namespace (default: of all)
  --cluster            the URLs, one or several, are nodes of a cluster; all masters are asked
  --sentinel <name>    the URLs are sentinels of the master of this name
  --tls-ca <file>      the authority that signed the certificate of a rediss:// server, in PEM
  --json               each as one line of JSON
  --help               this text

Ends with 0, or with 2 if nobody could be asked.`

const options = {
  ...targetOptions,
  namespace: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const

/** Runs `herdless leases`; resolves with the exit code. */
export async function leases(args: readonly string[]): Promise<number> {
  const { values, positionals } = parsed(args, options)
  if (values.help === true) return (console.log(help), 0)
  const target = targetIn(values, positionals)
  const prefix =
    values.namespace === undefined ? '' : namespacePrefix(planned({ namespace: values.namespace }).namespace)
  const count = await connected(target, async (client) => {
    let found = 0
    const steps = redisStore(client, { wakeUp: 'poll' }).inspection?.leases?.(prefix)
    for (let step = await steps?.next(); step !== undefined && step.done !== true; step = await steps?.next()) {
      for (const lease of step.value) {
        found++
        const told = toldLease(lease.key.slice(lease.key.indexOf(':') + 1), lease)
        const namespace = namespaceIn(lease.key)
        console.log(values.json === true ? asJson({ namespace, ...told }) : asText(told, namespace))
      }
    }
    return found
  })
  if (values.json !== true) console.log(count === 0 ? 'Nothing is being loaded' : `\n${count} being loaded`)
  return 0
}

/** The namespace in a key; the inverse of `namespacePrefix`. */
function namespaceIn(key: string): string {
  return key.slice(0, key.indexOf(':')).replaceAll('%3A', ':').replaceAll('%25', '%')
}

function asText({ key, token, holder, age, left, renewals, waiting }: HeldLease, namespace: string): string {
  const who = holder === null ? 'somebody' : `process ${holder.pid} on ${holder.host}`
  return `${namespace} ${JSON.stringify(key)}  ${who}\n${asLine('', { token, age, left, renewals, waiting })}`
}
