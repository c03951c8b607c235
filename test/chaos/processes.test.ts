import { playAll } from './play-all.ts'

playAll('processes', 'quick')
