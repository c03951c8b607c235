export { postgresLock, type PostgresLockOptions } from './postgres-lock.ts'
export { postgresLockSchema } from './schema.ts'
export type { PgPool, PostgresClient, PostgresJs } from './client.ts'
