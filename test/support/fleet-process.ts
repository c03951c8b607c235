/**
 * Processes that a test starts, tells what to do and hears from, over a socket each, in lines of JSON. However the test
 * process ends, they end too.
 */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { guardianOfThisProcess, type GuardedProcess } from '../../tools/servers/guarded-process.mjs'
import { builtPackage } from './fleet-build.ts'

/** Starts processes that run one script, which begins with fleet-base.mjs. */
export class ProcessStarter {
  readonly #script: string
  readonly #built: string
  readonly #server: Server
  readonly #started: Map<number, Promise<FleetProcess>> = new Map()
  #count = 0

  private constructor(script: string, built: string, server: Server) {
    this.#script = script
    this.#built = built
    this.#server = server
    server.on('connection', (socket) => {
      const lines = createInterface({ input: socket })
      lines.once('line', async (line) => {
        const { index } = JSON.parse(line) as { index: number }
        // On a busy machine its word is here before the guardian's that it runs.
        const started = await this.#started.get(index)?.catch(() => undefined)
        started?.connected(socket, lines)
      })
      // A process that is killed resets its connection.
      socket.on('error', () => {})
      lines.on('error', () => {})
    })
  }

  static async open(script: string): Promise<ProcessStarter> {
    const built = await builtPackage()
    const server = createServer({ noDelay: true }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new ProcessStarter(script, built, server)
  }

  /**
   * One more process; `ready` says when it can be told what to do.
   * @param heard is given what it says besides the answers to what it is told
   */
  async start<Report>(heard: (report: Report, process: FleetProcess) => void): Promise<FleetProcess> {
    const index = this.#count++
    const starting = this.#start(index, heard)
    this.#started.set(index, starting)
    return await starting
  }

  async #start<Report>(index: number, heard: (report: Report, process: FleetProcess) => void): Promise<FleetProcess> {
    const guardian = guardianOfThisProcess()
    const { port } = this.#server.address() as AddressInfo
    const folder = await guardian.newFolder()
    const args = ['--expose-gc', this.#script, String(port), String(index), this.#built]
    const running = await guardian.start(process.execPath, args, { folder, env: {} })
    const started: FleetProcess = new FleetProcess(index, running, (report) => heard(report as Report, started))
    return started
  }

  /** Ends all of them. */
  async stop(): Promise<void> {
    const all = await Promise.allSettled(this.#started.values())
    await Promise.all(all.flatMap((each) => (each.status === 'fulfilled' ? [each.value.stop()] : [])))
    this.#server.close()
  }
}

interface Awaited {
  readonly answered: (answer: unknown) => void
  readonly failed: (error: unknown) => void
  readonly asked: () => void
}

/** One process. */
export class FleetProcess {
  /** Which it is of those that were started together, or are used together. */
  index: number
  /** Is given what it says besides the answers to what it is told. */
  reported: (report: object) => void
  /** Resolves when it can be told what to do. */
  readonly ready: Promise<void>
  readonly #process: GuardedProcess
  readonly #awaited: Map<number, Awaited> = new Map()
  #lastId = 0
  #socket: Socket | undefined
  #becomeReady: () => void = () => {}
  #fail: (error: unknown) => void = () => {}
  #silent: Promise<unknown> = Promise.resolve()
  #running = true
  #stands = false
  #mayEnd = false

  constructor(index: number, process: GuardedProcess, reported: (report: object) => void) {
    this.index = index
    this.#process = process
    this.reported = reported
    this.ready = new Promise((resolve, reject) => {
      this.#becomeReady = resolve
      this.#fail = reject
    })
    void process.ended.then(() => this.#ended())
  }

  get pid(): number {
    return this.#process.pid
  }

  /** Whether it has not ended. */
  get running(): boolean {
    return this.#running
  }

  /** Whether it can be told what to do, and nobody expects its end. */
  get usable(): boolean {
    return this.#running && !this.#mayEnd && !this.#stands
  }

  connected(socket: Socket, lines: Interface): void {
    this.#socket = socket
    this.#silent = once(lines, 'close')
    lines.on('line', (line) => this.#heard(JSON.parse(line)))
    this.#becomeReady()
  }

  /** Kills it as a crash would; resolves when all that it had said has been heard. */
  async kill(): Promise<void> {
    this.#mayEnd = true
    this.#process.signal('SIGKILL')
    await this.#process.ended
    await this.#silent
  }

  /** Stops its clock: it does nothing until `resume`, and its connections stay open. */
  pause(): void {
    this.#stands = true
    this.#process.signal('SIGSTOP')
  }

  resume(): void {
    this.#stands = false
    this.#process.signal('SIGCONT')
  }

  /** Keeps its event loop from turning for so long. */
  async block(ms: number): Promise<void> {
    await this.tell('block', { ms })
  }

  /** The bytes its values take in memory once all garbage is gone. */
  async heap(): Promise<number> {
    return (await this.tell('heap')) as number
  }

  /** Lets it end by itself: resolves when it has. What we have to do with it does not keep it alive. */
  async ended(): Promise<void> {
    this.#mayEnd = true
    await this.tell('leave')
    await this.#process.ended
  }

  async tell(word: string, details: object = {}, asked: () => void = () => {}): Promise<unknown> {
    const id = ++this.#lastId
    return await new Promise((answered, failed) => {
      if (!this.#running) return failed(new Error(`Process ${this.index} has ended`))
      this.#awaited.set(id, { answered, failed, asked })
      this.#socket?.write(`${JSON.stringify({ ...details, id, word })}\n`)
    })
  }

  /** What is wrong with it, if anything. */
  async complaint(): Promise<string> {
    const log = await readFile(join(this.#process.folder, 'log'), 'utf8')
    if (log !== '') return `Process ${this.index} said:\n${log}`
    return this.#running || this.#mayEnd ? '' : `Process ${this.index} ended by itself`
  }

  async stop(): Promise<void> {
    this.#mayEnd = true
    await this.#process.stop()
    this.#socket?.destroy()
  }

  #heard(
    report: { asked: number } | { id: number; answer: unknown } | { id: number; complaint: { message: string } },
  ): void {
    if ('asked' in report) {
      this.#awaited.get(report.asked)?.asked()
    } else if ('id' in report) {
      const awaited = this.#awaited.get(report.id)
      this.#awaited.delete(report.id)
      if ('answer' in report) awaited?.answered(report.answer)
      else awaited?.failed(Object.assign(new Error(report.complaint.message), report.complaint))
    } else {
      this.reported(report)
    }
  }

  async #ended(): Promise<void> {
    this.#running = false
    const said = await readFile(join(this.#process.folder, 'log'), 'utf8').catch(() => '')
    const error = new Error(`Process ${this.index} has ended. ${said}`)
    this.#fail(error)
    this.ready.catch(() => {})
    for (const { failed } of this.#awaited.values()) failed(error)
    this.#awaited.clear()
  }
}
