import type { Connection } from './connection.ts'

/** The settings to read with CONFIG GET, by name, so that no secret is read. */
const configured = [
  'maxmemory',
  'maxmemory-policy',
  'save',
  'appendonly',
  'appendfsync',
  'stop-writes-on-bgsave-error',
  'min-replicas-to-write',
  'timeout',
  'tcp-keepalive',
  'maxclients',
  'client-output-buffer-limit',
  'cluster-require-full-coverage',
]

/** The facts that a server reports about itself. A managed server may refuse some: then they are missing. */
export class Facts {
  /** The refused questions, with the server's reasons. */
  readonly hidden: readonly string[]
  readonly #hello: ReadonlyMap<string, string>
  readonly #info: ReadonlyMap<string, string>
  readonly #config: ReadonlyMap<string, string>

  constructor(facts: {
    readonly hidden?: readonly string[]
    readonly hello?: ReadonlyMap<string, string>
    readonly info?: ReadonlyMap<string, string>
    readonly config?: ReadonlyMap<string, string>
  }) {
    this.hidden = facts.hidden ?? []
    this.#hello = facts.hello ?? new Map()
    this.#info = facts.info ?? new Map()
    this.#config = facts.config ?? new Map()
  }

  /** Reads the facts of a server. */
  static async of(connection: Connection): Promise<Facts> {
    const hidden: string[] = []
    const asked = async (command: string, ...args: string[]): Promise<unknown> => {
      const answer = await connection.ask(command, ...args)
      if ('reply' in answer) return answer.reply
      hidden.push(`${command} (${answer.refused})`)
      return undefined
    }
    const hello = pairsIn(await asked('HELLO'))
    const said = await asked('INFO')
    const info = linesIn(typeof said === 'string' ? said : '')
    const [first = '', ...others] = configured
    const answers = [await asked('CONFIG', 'GET', first)]
    // Several names in one command need Redis 7.0.
    if (answers[0] !== undefined) {
      answers.push(...(await Promise.all(others.map((name) => connection.reply('CONFIG', 'GET', name)))))
    }
    const config = new Map(answers.flatMap((answer) => [...pairsIn(answer)]))
    return new Facts({ hidden, hello, info, config })
  }

  hello(field: string): string | undefined {
    return this.#hello.get(field)
  }

  /** A field of INFO. */
  info(field: string): string | undefined {
    return this.#info.get(field)
  }

  /** A numeric field of INFO. */
  count(field: string): number | undefined {
    return numberIn(this.#info.get(field))
  }

  /** The fields of INFO whose names match, such as those of the replicas. */
  infos(begin: RegExp): string[] {
    return [...this.#info].filter(([field]) => begin.test(field)).map(([, value]) => value)
  }

  config(name: string): string | undefined {
    return this.#config.get(name)
  }

  /** A numeric setting. */
  setting(name: string): number | undefined {
    return numberIn(this.#config.get(name))
  }
}

/** The lines `name:value` of a reply such as that of INFO. */
export function linesIn(text: string): Map<string, string> {
  const lines = text.split(/\r?\n/).map((line) => /^([^#:][^:]*):(.*)$/.exec(line))
  return new Map(lines.flatMap((match) => (match === null ? [] : [[match[1] as string, match[2] as string]])))
}

/** The names and values of a flat list. */
function pairsIn(reply: unknown): Map<string, string> {
  const pairs = new Map<string, string>()
  if (!Array.isArray(reply)) return pairs
  for (let at = 0; at + 1 < reply.length; at += 2) pairs.set(String(reply[at]), String(reply[at + 1]))
  return pairs
}

function numberIn(text: string | undefined): number | undefined {
  const number = Number(text === undefined || text === '' ? Number.NaN : text)
  return Number.isNaN(number) ? undefined : number
}
