import { cacheLife, cacheTag } from 'next/cache'
import { rendered } from '../../../lib/source.mjs'

async function product(slug) {
  'use cache: remote'
  cacheTag('products', slug)
  cacheLife({ stale: 60, revalidate: 5, expire: 600 })
  return await rendered(slug)
}

export async function GET(request, { params }) {
  const { slug } = await params
  return new Response(await product(slug))
}
