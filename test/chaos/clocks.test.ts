import { playAll } from './play-all.ts'

playAll('clocks', 'quick')
