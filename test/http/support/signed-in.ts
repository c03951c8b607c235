import type { Visitors } from './identity.ts'
import type { Site } from './site.ts'

/** Two visitors with the cookies of `/login/ada` and `/login/bob`, and one without. */
export async function signedIn(site: Site): Promise<Visitors> {
  const cookies = async (name: string): Promise<Visitors[string]> => {
    const { headers } = await site.get(`/login/${name}`)
    const cookie = (headers['set-cookie'] ?? []).map((each) => each.split(';', 1)[0]).join('; ')
    if (cookie === '') throw new Error(`Expected a cookie for ${name} at /login, got none`)
    return { headers: { cookie } }
  }
  return { ada: await cookies('ada'), bob: await cookies('bob'), nobody: {} }
}

/** The name in `/login/:name`; `undefined` for other paths. */
export function loginOf(path: string): string | undefined {
  return /^\/login\/(\w+)/.exec(path)?.[1]
}

/** Every value of the option `cookies`, the default first. */
export const withCookies = [{}, { cookies: 'hide' }, { cookies: 'show' }] as const
