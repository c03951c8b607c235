import { playAll } from './play-all.ts'

playAll('cluster', 'defaults')
