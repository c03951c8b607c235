import { playAll } from './play-all.ts'

playAll('refusals', 'defaults')
