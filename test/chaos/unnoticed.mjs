/** A process that stands still for no longer than this, in milliseconds, does not notice it, and does not say so. */
export const unnoticed = 20
