import { strict as assert } from 'node:assert'
import { expected, found, holds, value, type ContractTest } from './scene.ts'

/** Endings of keys, behind the namespace. */
const rests: readonly string[] = [
  ['', ' ', '\t', '\n', '\r\n', '\0', '\0\0', '\x7f', '\\', '"', "'", '`', '$', '%', '%25', '*', '?', '[a]', '/', '..'],
  '{ } {} }{ {{ }} {a a{ a} }a {a} a{} {}a a{b}c a}b{c {a}{b} {{a}} }:lease'.split(' '),
  [':', '::', ':lease', 'lease', 'k', 'k:lease', 'K', ' k', 'k ', 'k\n', 'k\0', 'k\0a'],
  '__proto__ constructor prototype toString hasOwnProperty null undefined NaN 0 -0 00 1e3'.split(' '),
  // Equal in appearance, and after normalization, but different.
  'é e\u0301 Å A\u030a \u212b ﬁ fi ß ss ı i İ ½ 1⁄2'.split(' '),
  ['\u00a0', '\u200b', '\ufeff'],
  ['💥', '💥\u200d', '👩‍👩‍👧', '🇩🇪', '日本', 'עברית', '\u202etxet', '\u{10ffff}', '\ufffd', '\ufffe'],
  ['k'.repeat(65_536), `${'k'.repeat(65_535)}K`],
].flat()

/** Keys with unusual characters. */
export const keys: readonly ContractTest[] = [
  {
    title: 'keys of every odd kind hold values, each its own',
    async run(scene) {
      // One prefix for all, so that they differ only in the unusual part.
      const prefix = scene.key()
      const all = rests.map((rest, index) => ({ key: prefix + rest, text: `value ${index}` }))
      await Promise.all(all.map(({ key, text }) => scene.load(scene.a, key, value(text))))
      for (const { key, text } of all) {
        holds(await scene.b.read(key), text)
        holds(expected(await scene.claim(scene.b, key), 'fresh').entry, text)
      }
      const read = await Promise.all(all.map(({ key }) => scene.a.read(key)))
      assert.deepEqual(
        read.map((entry) => found(entry).payload.toString()),
        all.map(({ text }) => text),
      )
    },
  },
  {
    title: 'keys of every odd kind can be claimed, waited for, failed, passed, renewed, released, set and invalidated',
    async run(scene) {
      const prefix = scene.key()
      for (const rest of rests) {
        const key = prefix + rest
        const lease = await scene.lease(scene.a, key)
        assert.equal(lease.key, key)
        const wait = await scene.wait(scene.b, key)
        assert.equal(wait.token, lease.token)
        wait.leave()
        assert.deepEqual(await Promise.all(scene.a.renew([lease])), [true])
        assert.equal(await scene.a.release(lease), true)
        const failing = await scene.lease(scene.b, key)
        assert.equal(
          await scene.b.fail(failing, { code: 'LOAD_FAILED', message: rest.slice(0, 100), cause: null }, 60_000),
          true,
        )
        assert.equal(expected(await scene.claim(scene.a, key), 'failed').failure.message, rest.slice(0, 100))
        await scene.a.invalidate(key)
        assert.equal(await scene.b.pass(await scene.lease(scene.b, key), 60_000), true)
        expected(await scene.claim(scene.a, key), 'pass')
        await scene.set(scene.a, key, value('set'))
        holds(await scene.b.read(key), 'set')
        await scene.b.invalidate(key)
        assert.equal(await scene.a.read(key), null)
      }
    },
  },
]
