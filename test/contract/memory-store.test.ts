import { test } from 'vitest'
import { memoryStore } from '../../src/index.ts'
import { storeContract } from '../../src/testing/index.ts'

storeContract({
  name: 'memoryStore',
  test,
  open: async () => {
    const store = memoryStore()
    return { stores: [store, store], close: async () => undefined }
  },
  timeout: 60_000,
})
