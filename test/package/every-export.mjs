/**
 * Runs in a project that has the package installed: each of its exports can be imported and required, and is the same
 * either way. None of them loads the parser of the command.
 */
import { deepEqual, notDeepEqual } from 'node:assert/strict'
import { createRequire } from 'node:module'
import { sep } from 'node:path'

const require = createRequire(import.meta.url)
const { exports } = require('herdless/package.json')
const subpaths = Object.keys(exports).filter((subpath) => subpath !== './package.json')

for (const subpath of subpaths) {
  const specifier = `herdless${subpath.slice(1)}`
  const required = Object.keys(require(specifier)).toSorted()
  deepEqual(Object.keys(await import(specifier)).toSorted(), required)
  // The contract of stores is types alone.
  if (subpath !== './store') notDeepEqual(required, [])
  console.log(`${specifier}: ${required.join(', ')}`)
}

const { CacheError } = await import('herdless')
const { createCache } = require('herdless')
const cache = createCache()
await cache.close()
const error = await cache.getOrLoad('k', () => 1).catch((thrown) => thrown)
deepEqual([error instanceof CacheError, Reflect.get(Object(error), 'code')], [true, 'CLOSED'])

deepEqual(
  Object.keys(require.cache).filter((file) => file.includes(`${sep}commander${sep}`)),
  [],
)
