import { playNamed } from './play-all.ts'

playNamed(['process_killed', 'redis_restarted_empty', 'connections_cut'])
