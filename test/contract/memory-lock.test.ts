import { test } from 'vitest'
import { FleetLock } from '../../src/core/lock/fleet-lock.ts'
import { lockDefaults } from '../../src/core/options/lock-plan.ts'
import { MemoryLocks } from '../../src/memory/lock.ts'
import { lockContract } from '../../src/testing/lock-contract/lock-contract.ts'

lockContract({
  name: 'memoryLock',
  test,
  open: async () => {
    const memory = new MemoryLocks()
    const lock = () => new FleetLock(memory, { plan: lockDefaults, commandTimeout: 60_000 })
    return { locks: [lock(), lock(), lock()], close: async () => {} }
  },
  timeout: 60_000,
})
