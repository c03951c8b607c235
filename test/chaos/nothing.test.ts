import { playAll } from './play-all.ts'

playAll('nothing', 'quick')
