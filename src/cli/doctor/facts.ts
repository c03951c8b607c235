import type { Connection } from './connection.ts'

/** What is asked of CONFIG: by name, so that no secret is asked for. */
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

/** What a server says of itself. A managed one may refuse to say much: then the facts are missing. */
export class Facts {
  /** What was refused, with the server's reason. */
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

  /** Asks a server. */
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
    // Several at once are for Redis 7.0 and newer.
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

  /** A field of INFO that is a number. */
  count(field: string): number | undefined {
    return numberIn(this.#info.get(field))
  }

  /** Fields of INFO whose names begin so, such as those of the replicas. */
  infos(begin: RegExp): string[] {
    return [...this.#info].filter(([field]) => begin.test(field)).map(([, value]) => value)
  }

  config(name: string): string | undefined {
    return this.#config.get(name)
  }

  /** A setting that is a number. */
  setting(name: string): number | undefined {
    return numberIn(this.#config.get(name))
  }
}

/** The lines `name:value` of a reply such as that of INFO. */
export function linesIn(text: string): Map<string, string> {
  const lines = text.split(/\r?\n/).map((line) => /^([^#:][^:]*):(.*)$/.exec(line))
  return new Map(lines.flatMap((match) => (match === null ? [] : [[match[1] as string, match[2] as string]])))
}

/** The names and values of a reply that lists them in turn. */
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
