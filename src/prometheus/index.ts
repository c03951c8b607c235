export type { MetricsClient, MetricsRegister } from './client.ts'
export { collectMetrics, type MetricsOptions } from './metrics.ts'
