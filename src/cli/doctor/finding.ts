/** The weight of a finding: a `problem` must be fixed, a `warning` deserves a look, a `note` is for information. */
export type Level = 'ok' | 'note' | 'warning' | 'problem'

/** A finding of one check. */
export interface Finding {
  /** The check, in a word or two. */
  readonly check: string
  readonly level: Level
  /** The observation, with its figures. */
  readonly what: string
  /** The significance and the remedy; `''` if there is nothing to do. */
  readonly todo: string
  /** The page of the documentation about it. */
  readonly page: string
}

/** Makes the findings of one check. */
export interface Voice {
  ok(what: string): Finding
  note(what: string, todo?: string): Finding
  warning(what: string, todo: string): Finding
  problem(what: string, todo: string): Finding
}

/** The voice of a check; its findings name this page by default. */
export function about(check: string, page: string): Voice {
  const say = (level: Level, what: string, todo: string): Finding => ({ check, level, what, todo, page })
  return {
    ok: (what) => say('ok', what, ''),
    note: (what, todo = '') => say('note', what, todo),
    warning: (what, todo) => say('warning', what, todo),
    problem: (what, todo) => say('problem', what, todo),
  }
}
