import { playAll } from './play-all.ts'

playAll('sentinel', 'defaults')
