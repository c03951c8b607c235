import { strict as assert } from 'node:assert'
import { expected, found, gone, holds, value, type ContractTest } from './scene.ts'

const everyByte = Uint8Array.from({ length: 256 }, (_, index) => index)

/** Payloads of every special length. */
const payloads: readonly { what: string; bytes: Uint8Array }[] = [
  { what: 'no bytes', bytes: new Uint8Array(0) },
  { what: 'one byte of zero', bytes: new Uint8Array(1) },
  { what: 'every byte there is', bytes: everyByte },
  { what: 'bytes that are no UTF-8', bytes: Uint8Array.of(0xff, 0xfe, 0xc0, 0x80, 0xed, 0xa0, 0x80) },
  { what: 'a part of something larger', bytes: everyByte.subarray(100, 200) },
  { what: 'as much as fits into a message', bytes: new Uint8Array(4_096).fill(1) },
  { what: 'one byte more than fits into a message', bytes: new Uint8Array(4_097).fill(2) },
  { what: 'a megabyte', bytes: Buffer.alloc(1_048_576, everyByte) },
]

/** Values that must come back unchanged. */
export const values: readonly ContractTest[] = [
  ...payloads.map(({ what, bytes }): ContractTest => ({
    title: `a value of ${what} comes back as it is, loaded or set, read, claimed or waited for`,
    async run(scene) {
      const loaded = scene.key()
      await scene.load(scene.a, loaded, value(bytes, { ttl: 1, grace: 60_000 }))
      const set = scene.key()
      await scene.set(scene.a, set, value(bytes))
      const entries = [
        await scene.a.read(loaded),
        await scene.b.read(loaded),
        await scene.b.read(set),
        expected(await scene.claim(scene.b, set), 'fresh').entry,
        (await scene.claimUntil(scene.b, loaded, 'lease')).stale,
      ]
      for (const entry of entries) assert(found(entry).payload.equals(bytes), 'the bytes are the same')
      for (const inlineLimit of [4_096, 0]) {
        const key = scene.key()
        const lease = await scene.lease(scene.a, key)
        const wait = await scene.wait(scene.b, key)
        assert.equal(await scene.a.fill(lease, value(bytes, { inlineLimit })), true)
        const entry = scene.pushes
          ? await scene.filled(scene.b, key, wait)
          : expected(await scene.claim(scene.b, key, { awaited: wait.token }), 'fresh').entry
        wait.leave()
        assert(entry.payload.equals(bytes), 'the bytes that were waited for are the same')
        assert.equal(entry.token, lease.token)
      }
    },
  })),
  {
    title: 'what a value is recognised by comes back with it: read, claimed, stale, or out of a message',
    async run(scene) {
      for (const validators of [{ etag: '"ü💥"' }, { lastModified: 'now' }, { etag: '', lastModified: '' }, null]) {
        for (const tags of [[], [scene.key()]]) {
          const key = scene.key()
          const lease = await scene.lease(scene.a, key)
          const wait = await scene.wait(scene.b, key)
          await scene.a.fill(lease, value('v', { ttl: 1, grace: 60_000, validators, tags }))
          const entries = [
            await scene.b.read(key),
            expected(await scene.claim(scene.b, key, { awaited: lease.token }), 'fresh').entry,
            (await scene.claimUntil(scene.b, key, 'lease')).stale,
            ...(scene.pushes ? [await scene.filled(scene.b, key, wait)] : []),
          ]
          wait.leave()
          for (const entry of entries) {
            holds(entry, 'v')
            assert.deepEqual(found(entry).validators, validators)
          }
        }
      }
    },
  },
  {
    title: 'values that are read together are those that are read one by one',
    async run(scene) {
      const [plain, tagged, voided, missing] = [scene.key(), scene.key(), scene.key(), scene.key()]
      const [tag, other] = [scene.key(), scene.key()]
      await scene.load(scene.a, plain, value('plain'))
      await scene.load(scene.a, tagged, value('tagged', { tags: [tag] }))
      await scene.load(scene.a, voided, value('voided', { tags: [other] }))
      await scene.a.invalidateTags([other])
      for (const store of [scene.a, scene.b]) {
        for (const keys of [[plain, voided, missing, tagged, plain], [tagged], [missing], []]) {
          const entries = (await store.readMany?.(keys)) ?? (await Promise.all(keys.map((key) => store.read(key))))
          assert.equal(entries.length, keys.length)
          for (const [index, key] of keys.entries()) {
            const entry = entries[index] ?? null
            if (key === missing || key === voided) gone(entry)
            else holds(entry, key === plain ? 'plain' : 'tagged')
          }
        }
      }
    },
  },
  {
    title: 'a value does not change with the bytes it was made from',
    async run(scene) {
      const [loaded, set] = [scene.key(), scene.key()]
      const bytes = Buffer.from('before')
      await scene.load(scene.a, loaded, value(bytes))
      await scene.set(scene.a, set, value(bytes))
      bytes.write('after!')
      for (const key of [loaded, set]) assert.equal(found(await scene.a.read(key)).payload.toString(), 'before')
    },
  },
  {
    title: 'a value may live for a hundred years, and then be stale for as long',
    async run(scene) {
      const century = 36_525 * 86_400_000
      const [loaded, set] = [scene.key(), scene.key()]
      await scene.load(scene.a, loaded, value('v', { ttl: century, grace: century }))
      await scene.set(scene.a, set, value('v', { ttl: century, grace: century }))
      for (const key of [loaded, set]) {
        const { freshFor, staleFor } = found(await scene.b.read(key))
        assert(Math.abs(freshFor - century) < 10_000, `it is fresh for ${freshFor} of ${century} ms`)
        assert(Math.abs(staleFor - 2 * century) < 10_000, `it is stale for ${staleFor} of ${2 * century} ms`)
      }
    },
  },
  {
    title: 'times need not be whole milliseconds',
    async run(scene) {
      const [loaded, set] = [scene.key(), scene.key()]
      const written = value('v', { ttl: 60_000.5, grace: 0.25, loadTime: 0.125 })
      const lease = await scene.lease(scene.a, loaded, { leaseTtl: 30_000.75 })
      assert.deepEqual(await Promise.all(scene.a.renew([lease])), [true])
      assert.equal(await scene.a.fill(lease, written), true)
      await scene.set(scene.a, set, written)
      for (const key of [loaded, set]) assert(found(await scene.b.read(key)).freshFor > 50_000)
      const other = scene.key()
      await scene.a.pass(await scene.lease(scene.a, other), 60_000.5)
      expected(await scene.claim(scene.b, other), 'pass')
    },
  },
]
