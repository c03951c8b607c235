import { updateTag } from 'next/cache'
import { redirect } from 'next/navigation'
import { connection } from 'next/server'
import { Suspense } from 'react'
import { product } from '../../../lib/product.mjs'

async function change(form) {
  'use server'
  updateTag(form.get('slug'))
  if (form.get('leaves') === 'yes') redirect(`/use-cache/${form.get('slug')}`)
}

async function Product({ params }) {
  await connection()
  const { slug } = await params
  return (
    <form action={change}>
      <p>{await product(slug)}</p>
      <input type="hidden" name="slug" value={slug} />
    </form>
  )
}

export default function Page({ params }) {
  return (
    <Suspense>
      <Product params={params} />
    </Suspense>
  )
}
