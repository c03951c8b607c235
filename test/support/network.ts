import { startProxy, type Direction, type Proxy } from './proxy.ts'

/** Starts a proxy in front of each of several servers: all that lies between one process and a cluster, or a group. */
export async function startNetwork(servers: readonly { readonly port: number }[]): Promise<Network> {
  return new Network(
    new Map(await Promise.all(servers.map(async ({ port }) => [port, await startProxy({ port })] as const))),
  )
}

/** Proxies that are faulty together. What is for one of them alone, such as a lost reply, is done to `to(server)`. */
export class Network {
  readonly #proxies: ReadonlyMap<number, Proxy>

  /** @param proxies by the ports of their servers */
  constructor(proxies: ReadonlyMap<number, Proxy>) {
    this.#proxies = proxies
  }

  /** What a client is told to put in the place of the addresses that the servers give it. */
  get natMap(): Record<string, { host: string; port: number }> {
    return Object.fromEntries([...this.#proxies].map(([port, proxy]) => [`127.0.0.1:${port}`, addressOf(proxy)]))
  }

  /** Where a client begins: the proxies of these servers. */
  addressesOf(servers: readonly { readonly port: number }[]): { host: string; port: number }[] {
    return servers.map((server) => addressOf(this.to(server)))
  }

  to({ port }: { readonly port: number }): Proxy {
    const proxy = this.#proxies.get(port)
    if (!proxy) throw new TypeError(`Expected a server of this network, ${port} is none`)
    return proxy
  }

  get connections(): number {
    return this.#all.reduce((sum, { connections }) => sum + connections, 0)
  }

  set latency(ms: number) {
    for (const proxy of this.#all) proxy.latency = ms
  }

  set jitter(ms: number) {
    for (const proxy of this.#all) proxy.jitter = ms
  }

  cut(): void {
    for (const proxy of this.#all) proxy.cut()
  }

  refuse(): void {
    for (const proxy of this.#all) proxy.refuse()
  }

  accept(): void {
    for (const proxy of this.#all) proxy.accept()
  }

  blackHole(direction?: Direction): void {
    for (const proxy of this.#all) proxy.blackHole(direction)
  }

  heal(direction?: Direction): void {
    for (const proxy of this.#all) proxy.heal(direction)
  }

  abandon(): void {
    for (const proxy of this.#all) proxy.abandon()
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all.map((proxy) => proxy.stop()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  get #all(): Proxy[] {
    return [...this.#proxies.values()]
  }
}

function addressOf({ host, port }: Proxy): { host: string; port: number } {
  return { host, port }
}
