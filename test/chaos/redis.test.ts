import { playAll } from './play-all.ts'

playAll('redis', 'defaults')
