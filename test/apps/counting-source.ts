import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What apps show: it counts how often it is asked for what, and answers when it is let. */
export class CountingSource {
  readonly asked: Map<string, number> = new Map()
  readonly #server: Server
  #held: Promise<void> = Promise.resolve()

  constructor() {
    this.#server = createServer(async (request, response) => {
      const name = request.url?.slice(1) ?? ''
      const times = (this.asked.get(name) ?? 0) + 1
      this.asked.set(name, times)
      await this.#held
      response.end(`${name}#${times}`)
    }).listen(0)
  }

  async url(): Promise<string> {
    if (!this.#server.listening) await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Answers nothing until the returned function is called. */
  hold(): () => void {
    let release!: () => void
    this.#held = new Promise((resolve) => (release = resolve))
    return release
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}
