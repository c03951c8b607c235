/**
 * Each caller asks the database. It prints
 *
 *   40 callers, half of them as the value expires: 40 queries
 *   the slowest was answered after … ms; the database alone takes … ms
 */
import { run } from './fleet.mjs'

/** @type {import('./fleet.mjs').SetUp} */
const setUp = ({ load }) => ({
  ask: () => load(),
})

await run(setUp)
