import { product } from '../../../lib/product.mjs'

export async function GET(request, { params }) {
  const { slug } = await params
  return new Response(await product(slug))
}
