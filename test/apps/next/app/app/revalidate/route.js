import { revalidatePath, revalidateTag } from 'next/cache'

export async function POST(request) {
  const { tag, path, expire } = await request.json()
  if (path !== undefined) revalidatePath(path)
  else revalidateTag(tag, expire === undefined ? 'max' : { expire })
  return Response.json({})
}
