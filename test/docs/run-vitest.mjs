/** Runs a module as a test file of Vitest. */
export default { test: { include: ['*.js'] } }
