import { unstable_cache } from 'next/cache'
import { rendered } from '../../../lib/source.mjs'

export const revalidate = 5

export function generateStaticParams() {
  return []
}

export default async function Page({ params }) {
  const { slug } = await params
  // It gives the page its tag.
  await unstable_cache(async () => slug, [slug], { tags: [slug] })()
  return <p>{await rendered(slug)}</p>
}
