import { sequence, type Handle } from '@sveltejs/kit/hooks'
import { handle as cached } from './cached.ts'

/** Says who asks, by a field that no cache knows. */
const identified: Handle = ({ event, resolve }) => {
  event.locals.user = event.request.headers.get('x-user')
  return resolve(event)
}

export const handle = sequence(identified, cached)
