import { playAll } from './play-all.ts'

playAll('network', 'quick')
