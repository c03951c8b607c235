/** Milliseconds since 1970, with fractions. All processes of one machine agree on it, so they can share an instant. */
export const now = () => performance.timeOrigin + performance.now()
