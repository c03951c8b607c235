/** The channel by which Redis reports changed keys to a connection that speaks RESP2. */
export const invalidateChannel = '__redis__:invalidate'

/** Makes Redis report every change of keys with a prefix to the connection itself, once it has subscribed to the channel. */
export async function track(send: (words: string[]) => Promise<unknown>, prefix: string): Promise<void> {
  const id = String(await send(['client', 'id']))
  await send(['client', 'tracking', 'on', 'redirect', id, 'bcast', 'prefix', prefix])
}
