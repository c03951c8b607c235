import { join } from 'node:path'

const handler = join(import.meta.dirname, 'handlers', `${process.env.HANDLER}.mjs`)
const isComponents = process.env.MODE === 'use-cache'
// The two models of Next exclude each other: each build has the routes of one.
const own = isComponents ? ['use.js', 'use.jsx'] : ['isr.jsx']

/** @type {import('next').NextConfig} */
export default {
  distDir: `.next-${process.env.HANDLER}-${process.env.MODE}`,
  // Its packages are beside it.
  turbopack: { root: join(import.meta.dirname, '..') },
  outputFileTracingRoot: join(import.meta.dirname, '..'),
  pageExtensions: [...own, 'js', 'jsx'],
  cacheMaxMemorySize: 0,
  cacheHandler: handler,
  ...(isComponents
    ? { cacheComponents: true, partialPrefetching: true, cacheHandlers: { default: handler, remote: handler } }
    : {}),
}
