/** The required methods of a ZooKeeper client, such as that of `node-zookeeper-client`. */
export interface ZooKeeperClient {
  connect(): void
  close(): void
  getState(): { readonly name: string }
  /** The timeout that the server granted, in milliseconds. */
  getSessionTimeout(): number
  getChildren(path: string, callback: Callback<string[]>): void
  exists(path: string, callback: Callback<Stat | null>): void
  getData(path: string, watcher: () => void, callback: Callback<unknown>): void
  create(path: string, mode: number, callback: Callback<string>): void
  setData(path: string, data: Buffer, callback: (error: object | null) => void): void
  remove(path: string, callback: (error: object | null) => void): void
  mkdirp(path: string, callback: (error: object | null) => void): void
  transaction(): Transaction
  on(event: 'connected' | 'disconnected' | 'expired', listener: () => void): unknown
  removeListener(event: 'connected' | 'disconnected' | 'expired', listener: () => void): unknown
}

/** Several changes, executed all or none. */
export interface Transaction {
  create(path: string, mode: number): Transaction
  remove(path: string): Transaction
  commit(callback: Callback<readonly { readonly path?: string }[]>): void
}

/** The required members of a node's state. */
export interface Stat {
  /** The transaction that created the node: 64 bits, greater with every change in the ensemble. */
  readonly czxid: Buffer
}

/** The callback of a call: an error, with a ZooKeeper `code` if it is the server's, or a reply. */
export type Callback<T> = (error: object | null, value: T) => void

/** The error codes of ZooKeeper. */
const errorCodes = { connectionLoss: -4, noNode: -101, nodeExists: -110, notEmpty: -111, sessionExpired: -112 }

/** The flags of ZooKeeper for creating a node. */
export const createModes = { persistent: 0, ephemeralSequential: 3 }

/** Whether an error is one of these replies of the server. */
export function says(error: unknown, ...codes: readonly (keyof typeof errorCodes)[]): boolean {
  return codes.some((code) => (error as { code?: unknown } | null)?.code === errorCodes[code])
}

/** The result of a call with a callback. */
export function replyTo<T>(ask: (callback: Callback<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    ask((error, value) => (error ? reject(error) : resolve(value)))
  })
}
