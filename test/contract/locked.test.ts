import { test } from 'vitest'
import { locked, memoryLock, type KeyValue } from '../../src/index.ts'
import { storeContract } from '../../src/testing/index.ts'

/** As plain as can be: what a key-value store in memory does. */
function inMemory(): KeyValue {
  const values = new Map<string, { value: Uint8Array; until: number }>()
  return {
    async get(key) {
      const kept = values.get(key)
      return kept !== undefined && kept.until > Date.now() ? kept.value : null
    },
    async set(key, value, ttl) {
      values.set(key, { value, until: Date.now() + ttl })
    },
  }
}

storeContract({
  name: 'locked, in memory',
  test,
  pushes: false,
  limits: false,
  inspects: 'keys',
  open: async () => {
    const keyValue = inMemory()
    const lock = memoryLock()
    return { stores: [locked(keyValue, lock), locked(keyValue, lock)], close: () => lock.close() }
  },
  timeout: 60_000,
})
