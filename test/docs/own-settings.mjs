/** Gives each module of run-blocks.mjs settings of its own: they are imported with the query of the module's address. */

/** @type {import('node:module').ResolveHook} */
export async function resolve(specifier, context, next) {
  const resolved = await next(specifier, context)
  if (!/\/settings\/[\w-]+\.mjs$/.test(resolved.url)) return resolved
  return { ...resolved, url: resolved.url + new URL(context.parentURL ?? resolved.url).search }
}
