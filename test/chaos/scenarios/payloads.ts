import { setTimeout as pause } from 'node:timers/promises'
import { scenario, untilRenewal, type Scenario } from '../scenario.ts'
import type { Stage } from '../stage.ts'
import { hotKey, namespace } from '../work.ts'

type Client = Stage<'node'>['servers']['client']

/** Long enough to be found, and not left behind. */
const life = 5_000

/** Fewer strange things than this prove nothing. */
const fewest = 31

export const payloads = [
  strange('foreign_type_at_value', 'Lists stand where values should: they count as no value.', (client, key) =>
    client.multi().del(key).rpush(key, 'one', 'two').pexpire(key, life).exec(),
  ),
  strange('foreign_type_at_lease', 'Lists stand where leases should: they are swept away.', (client, key) =>
    client.multi().del(`${key}:lease`).rpush(`${key}:lease`, 'one').pexpire(`${key}:lease`, life).exec(),
  ),
  strange('garbage_bytes', 'Bytes stand where values should that are none: they count as no value.', (client, key) =>
    client.set(key, Buffer.from('this is what somebody else keeps here, and it is longer than a header'), 'PX', life),
  ),
  strange(
    'garbage_in_the_payload',
    'Values have a payload that cannot be decoded: they count as none.',
    async (client, key) => {
      const bytes = await client.getBuffer(key)
      if (bytes === null) return
      bytes.fill('{', 48)
      await client.set(key, bytes, 'PX', life)
    },
  ),
  strange(
    'value_of_a_later_version',
    'Values are of a format yet to come: they count as none.',
    async (client, key) => {
      const bytes = await client.getBuffer(key)
      if (bytes === null) return
      bytes[0] = 178
      const payload = Buffer.from('{"key":"of another meaning","by":"a later version"}')
      await client.set(key, Buffer.concat([bytes.subarray(0, 48), payload]), 'PX', life)
    },
  ),
]

/** Something strange is put at the hot keys again and again. A lease may be voided by it. */
function strange(name: string, what: string, put: (client: Client, key: string) => Promise<unknown>): Scenario {
  return scenario({
    name,
    on: 'node',
    what,
    allowed: { overlap: untilRenewal, older: true },
    async fault(stage) {
      const { client } = stage.servers
      const end = stage.now() + stage.lasts
      for (; stage.now() < end || stage.counted('put') < fewest; await pause(100)) {
        for (let number = 0; number < stage.work.hotKeys; number++) {
          await put(client, `{${namespace}:${hotKey(number)}}`)
          stage.count('put')
        }
      }
    },
    bites: ({ counted }) => counted('put') >= fewest,
    holds: ({ figures: { answers } }) =>
      Object.keys(answers).filter((told) => told !== 'value' && told !== 'LOAD_FAILED'),
  })
}
