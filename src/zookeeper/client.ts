/** What is used of a client of ZooKeeper: `node-zookeeper-client` has it. */
export interface ZooKeeperClient {
  connect(): void
  close(): void
  getState(): { readonly name: string }
  /** In milliseconds, as the server has granted it. */
  getSessionTimeout(): number
  getChildren(path: string, callback: Callback<string[]>): void
  exists(path: string, callback: Callback<Stat | null>): void
  exists(path: string, watcher: () => void, callback: Callback<Stat | null>): void
  create(path: string, mode: number, callback: Callback<string>): void
  setData(path: string, data: Buffer, callback: (error: object | null) => void): void
  remove(path: string, callback: (error: object | null) => void): void
  mkdirp(path: string, callback: (error: object | null) => void): void
  transaction(): Transaction
  on(event: 'connected' | 'disconnected' | 'expired', listener: () => void): unknown
  removeListener(event: 'connected' | 'disconnected' | 'expired', listener: () => void): unknown
}

/** Several changes, all of them or none. */
export interface Transaction {
  create(path: string, mode: number): Transaction
  remove(path: string): Transaction
  commit(callback: Callback<readonly { readonly path?: string }[]>): void
}

/** What is used of the state of a node. */
export interface Stat {
  /** The transaction that made it: a number of 64 bits that grows with every change of whatever node. */
  readonly czxid: Buffer
}

/** What a call comes to: an error, which has the `code` of ZooKeeper if it is the server's, or an answer. */
export type Callback<T> = (error: object | null, value: T) => void

/** As ZooKeeper numbers them. */
const errorCodes = { connectionLoss: -4, noNode: -101, nodeExists: -110, notEmpty: -111, sessionExpired: -112 }

/** How a node is made, as ZooKeeper numbers it. */
export const createModes = { persistent: 0, ephemeralSequential: 3 }

/** Whether the server itself said this. */
export function says(error: unknown, ...codes: readonly (keyof typeof errorCodes)[]): boolean {
  return codes.some((code) => (error as { code?: unknown } | null)?.code === errorCodes[code])
}

/** What a call with a callback comes to. */
export function answer<T>(ask: (callback: Callback<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    ask((error, value) => (error ? reject(error) : resolve(value)))
  })
}
