import { rendered } from '../../../lib/source.mjs'

export const revalidate = 5
export const dynamic = 'force-static'

export function generateStaticParams() {
  return []
}

export default async function Page({ params }) {
  const { slug } = await params
  return <p>{await rendered(slug)}</p>
}
