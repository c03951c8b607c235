import { playAll } from './play-all.ts'

playAll('limits', 'defaults')
