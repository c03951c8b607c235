// In a thread, because Vitest refuses to fake `nextTick` in a child process.
export default { test: { pool: 'threads', include: ['*.vitest.mjs'] } }
