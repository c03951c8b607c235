/**
 * The middle of some figures.
 * @param {readonly number[]} figures
 */
export function median(figures) {
  return [...figures].sort((a, b) => a - b)[Math.floor(figures.length / 2)] ?? Number.NaN
}

/**
 * The least and the greatest of some ratios, as text.
 * @param {readonly number[]} ratios
 */
export function spread(ratios) {
  return `${Math.min(...ratios).toFixed(2)} – ${Math.max(...ratios).toFixed(2)}`
}
