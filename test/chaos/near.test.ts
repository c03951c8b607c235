import { playAll } from './play-all.ts'

playAll('near', 'quick')
