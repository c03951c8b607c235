import { playAll } from './play-all.ts'

playAll('clients', 'defaults')
