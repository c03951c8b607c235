import { playAll } from './play-all.ts'

playAll('sources', 'quick')
