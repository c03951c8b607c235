/** What is used of it; its published types are of an older version. */
declare module 'bloomfilter' {
  export class BloomFilter {
    static withTargetError(keys: number, error: number): BloomFilter
    readonly buckets: Uint32Array
    add(key: string): void
    test(key: string): boolean
  }
}
