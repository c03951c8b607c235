import { playUntimed } from './play-all.ts'

playUntimed([
  'process_killed',
  'redis_restarted_empty',
  'connections_cut',
  'limited_process_killed',
  'limited_redis_flushed',
])
