import type { Address } from '../../library.ts'
import type { Connection } from '../connection.ts'
import { linesIn } from '../facts.ts'
import { about, type Finding } from '../finding.ts'
import { many } from '../../units.ts'

const voice = about('cluster', 'docs/redis.md#redis-cluster')
const allSlots = 16_384

/** A master, its slots and the number of its replicas. */
interface Shard {
  readonly address: { readonly host: string; readonly port: number }
  slots: number
  readonly replicas: number
}

/** A cluster as one of its nodes describes it: the masters to examine, and the findings about the whole. */
export async function cluster(
  seed: Connection,
  its: Address,
): Promise<{ readonly masters: readonly Address[]; readonly findings: readonly Finding[] }> {
  const answer = await seed.ask('CLUSTER', 'SLOTS')
  if ('refused' in answer) {
    const what = `${seed.name} does not say who has which slots: ${answer.refused}`
    const todo =
      'Without --cluster it is examined as a server of its own. ' +
      'A cluster says it to whoever has the right to CLUSTER SLOTS.'
    return { masters: [], findings: [voice.problem(what, todo)] }
  }
  const shards = shardsIn(answer.reply, 'host' in its ? its.host : '127.0.0.1')
  const findings = [...coverage(shards, linesIn(await seed.text('CLUSTER', 'INFO')))]
  const moving = (await seed.text('CLUSTER', 'NODES')).match(/\[\d+-[<>]-[0-9a-f]+\]/g) ?? []
  if (moving.length > 0) {
    const todo = 'Normal while slots are moved; a move that was broken off is ended with redis-cli --cluster fix.'
    findings.push(voice.warning(`${seed.name} is moving ${many(moving.length, 'slot')}`, todo))
  }
  const alone = shards.filter(({ replicas }) => replicas === 0).length
  if (alone > 0) {
    const todo = 'When such a master dies, its keys are away until it is back.'
    findings.push(voice.note(`Of ${many(shards.length, 'master')}, ${alone} without a replica`, todo))
  }
  return { masters: shards.map(({ address }) => address), findings }
}

function coverage(shards: readonly Shard[], info: ReadonlyMap<string, string>): Finding[] {
  const covered = shards.reduce((sum, { slots }) => sum + slots, 0)
  const failing = Number(info.get('cluster_slots_fail') ?? 0) + Number(info.get('cluster_slots_pfail') ?? 0)
  const state = info.get('cluster_state')
  if (covered < allSlots) {
    const missing = many(allSlots - covered, 'slot')
    const what = `${missing} of ${allSlots} without a master (cluster_state ${state ?? 'unknown'})`
    const todo =
      'Their keys, and with cluster-require-full-coverage all keys, are refused (CLUSTERDOWN). ' +
      'redis-cli --cluster fix assigns them.'
    return [voice.problem(what, todo)]
  }
  if (state === 'fail' || failing > 0) {
    const what = `cluster_state ${state}, ${many(failing, 'slot')} on masters that are taken for dead`
    return [voice.problem(what, 'Bring the masters back, or give them replicas that take their place.')]
  }
  return [
    voice.ok(`${many(shards.length, 'master')}, all ${allSlots} slots${state === undefined ? '' : `, state ${state}`}`),
  ]
}

function shardsIn(reply: unknown, seedHost: string): Shard[] {
  const shards = new Map<string, Shard>()
  for (const range of reply as [number, number, [string | null, number], ...unknown[]][]) {
    const [first, last, [host, port], ...replicas] = range
    const address = { host: host === null || host === '' ? seedHost : host, port: Number(port) }
    const name = `${address.host}:${address.port}`
    const shard = shards.get(name) ?? { address, slots: 0, replicas: replicas.length }
    shard.slots += Number(last) - Number(first) + 1
    shards.set(name, shard)
  }
  return [...shards.values()]
}
