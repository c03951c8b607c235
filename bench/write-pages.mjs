/** Writes docs/performance.md with its picture, and the tables of docs/comparison.md, from bench/results: `node bench/write-pages.mjs`. */
import { writePages } from './pages/files.mjs'

await writePages()
