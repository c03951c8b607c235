/** The required methods of a `GlideClient` of Valkey GLIDE 2.3 or newer. */
export interface GlideClient {
  customCommand(args: (string | Buffer)[], options?: { readonly decoder?: number }): Promise<unknown>
  invokeScript(...args: never[]): Promise<unknown>
  getSubscriptions(): Promise<{ readonly actualSubscriptions: object }>
  getPubSubMessage(): Promise<unknown>
  close(): void
}

/** What we look at of the configuration of a client, which is not part of its interface. */
export interface GlideConfig {
  readonly readFrom?: unknown
  readonly clientSideCache?: unknown
  readonly compression?: unknown
}

/** `Decoder.Bytes` of GLIDE. */
export const bytes: { readonly decoder: 0 } = { decoder: 0 }

/** What tells a connection from those before it, on the same server or another one. */
export async function connectionOf(client: GlideClient): Promise<string> {
  const info = String(await client.customCommand(['client', 'info'], bytes))
  return /^id=\d+ addr=\S+/.exec(info)?.[0] ?? info
}

/** The configuration of a client. */
export function configOf(client: GlideClient): GlideConfig {
  return (client as { config?: GlideConfig }).config ?? {}
}

export function isClosed(client: GlideClient): boolean {
  return (client as { isClosed?: unknown }).isClosed === true
}
