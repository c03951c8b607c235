/** A duration is a number, or a number and a unit without a blank. */
import { createCache, type Duration } from 'herdless'

const durations: Duration[] = [250, '250ms', '30s', '5m', '1.5h', '1.05d']
for (const ttl of durations) createCache({ ttl })

// @ts-expect-error: a blank
createCache({ ttl: '5 m' })
// @ts-expect-error: a blank before
createCache({ ttl: ' 5m' })
// @ts-expect-error: a unit that there is not
createCache({ ttl: '5min' })
// @ts-expect-error: no unit
createCache({ ttl: '5' })
// @ts-expect-error: no number
createCache({ ttl: 'm' })
// @ts-expect-error: any text, which may be no duration
createCache({ ttl: process.env['TTL'] ?? '5m' })
createCache({ ttl: Number(process.env['TTL_SECONDS']) * 1_000 })
