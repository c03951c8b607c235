/** The required methods of a `GlideClient` of Valkey GLIDE 2.3 or newer. */
export interface GlideClient {
  customCommand(args: (string | Buffer)[], options?: { readonly decoder?: number }): Promise<unknown>
  invokeScript(...args: never[]): Promise<unknown>
  getSubscriptions(): Promise<{ readonly actualSubscriptions: object }>
  getPubSubMessage(): Promise<unknown>
  close(): void
}

/** The configuration of a client, as far as it is used here; it is not part of the interface. */
export interface GlideConfig {
  readonly readFrom?: unknown
  readonly clientSideCache?: unknown
  readonly compression?: unknown
}

/** `Decoder.Bytes` of GLIDE. */
export const bytes: { readonly decoder: 0 } = { decoder: 0 }

/** Identifies the connection of a client, which GLIDE replaces without a word when it breaks. */
export async function connectionOf(client: GlideClient): Promise<string> {
  const info = String(await client.customCommand(['client', 'info'], bytes))
  return /^id=\d+ addr=\S+/.exec(info)?.[0] ?? info
}

/** The configuration of a client. */
export function configOf(client: GlideClient): GlideConfig {
  return (client as { config?: GlideConfig }).config ?? {}
}

/** Whether the user has closed a client. */
export function isClosed(client: GlideClient): boolean {
  return (client as { isClosed?: unknown }).isClosed === true
}
