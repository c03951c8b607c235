import { playAll } from './play-all.ts'

playAll('replies', 'quick')
