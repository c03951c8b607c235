import { cacheLife, cacheTag } from 'next/cache'
import { rendered } from './source.mjs'

/** A product, as the source has it. @param {string} slug @returns {Promise<string>} */
export async function product(slug) {
  'use cache: remote'
  cacheTag('products', slug)
  cacheLife({ stale: 60, revalidate: 5, expire: 600 })
  return await rendered(slug)
}
