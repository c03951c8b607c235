/** What is used of a key-value store. */
export interface KeyValue {
  /** What was set last and has not been forgotten; `null` or `undefined` if there is nothing. */
  get(key: string): Promise<Uint8Array | null | undefined>
  /** @param ttl after how many milliseconds it may be forgotten; not before that, unless memory is short */
  set(key: string, value: Uint8Array, ttl: number): Promise<unknown>
}
