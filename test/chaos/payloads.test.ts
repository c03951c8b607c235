import { playAll } from './play-all.ts'

playAll('payloads', 'quick')
