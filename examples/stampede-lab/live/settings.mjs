/** The settings of the live lab, which its processes share. Times are milliseconds. */

/** The hot keys. */
export const allKeys = /** @type {const} */ (['home', 'top-ten', 'prices'])

/** @typedef {typeof allKeys[number]} Key */

/** What a crawler asks for: one caller for each. */
export const products = Array.from({ length: 1_000 }, (_, id) => `product-${id}`)

/** On the side with herdless, so many loads run at a time, at most. */
export const sourceLimit = 20

/** The two sides, which get the same load, and have a database each. */
export const sides = /** @type {const} */ (['without', 'with'])

/** @typedef {typeof sides[number]} Side */

export const processNames = ['shop-1', 'shop-2', 'shop-3', 'shop-4']

/** A value stays in Redis for so long. */
export const valueTtl = 60_000

/** The lease of herdless and the lock of the tutorial last so long. */
export const lockTtl = 1_000

/** A slow source takes so much longer: half as long again as the lock lasts. */
export const slowness = 1_500

/** Each process asks for each key once in this time, on each side. */
export const everyCaller = 50

/** A caller gives up after this time. */
export const patience = 10_000

/** The client of Redis gives up a command after this time. */
export const redisTimeout = 2_000

/** How often each process reports, Redis is asked for leases, and the page is told. */
export const reportEvery = 100
