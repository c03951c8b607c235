import { fileURLToPath } from 'node:url'
import { ProcessStarter, type FleetProcess } from '../support/fleet-process.ts'
import { Referee, type Contention, type Opening, type Turn } from './referee.ts'

const worker = fileURLToPath(new URL('worker.mjs', import.meta.url))

/** Processes that want locks, and a referee who hears what each of them does. */
export class LockFleet {
  readonly referee = new Referee()
  readonly processes: FleetProcess[] = []
  readonly #starter: ProcessStarter
  readonly #opening: Opening

  private constructor(starter: ProcessStarter, opening: Opening) {
    this.#starter = starter
    this.#opening = opening
  }

  static async open(count: number, opening: Opening): Promise<LockFleet> {
    const fleet = new LockFleet(await ProcessStarter.open(worker), opening)
    await Promise.all(Array.from({ length: count }, () => fleet.add()))
    return fleet
  }

  /** The first two of its processes. */
  pair(): [FleetProcess, FleetProcess] {
    const [first, second] = this.processes
    if (first === undefined || second === undefined) throw new Error('Expected two processes')
    return [first, second]
  }

  /** One process more. */
  async add(): Promise<FleetProcess> {
    const process = await this.#starter.start<Turn>((said) => this.referee.heard(said))
    await process.ready
    await process.tell('open', this.#opening)
    this.processes.push(process)
    return process
  }

  /** Kills a process in the midst of whatever it does. */
  async kill(process: FleetProcess): Promise<void> {
    this.processes.splice(this.processes.indexOf(process), 1)
    this.referee.killed(process.index, machineNow())
    await process.kill()
  }

  /** All of them want a lock; resolves with how long each caller waited each time, in milliseconds. */
  async contend(contention: Contention): Promise<number[]> {
    const waits = await Promise.all(this.processes.map((process) => process.tell('contend', contention)))
    return (waits as number[][]).flat()
  }

  /** No caller wants the lock once more. */
  async rest(): Promise<void> {
    await Promise.all(this.processes.map((process) => process.tell('rest')))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#starter.stop()
  }
}

/** Milliseconds by the clock that all processes of this machine share. */
export function machineNow(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
