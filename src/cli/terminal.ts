import { styleText } from 'node:util'

type Paint = Parameters<typeof styleText>[0]
type Shown = Pick<NodeJS.WriteStream, 'isTTY' | 'columns'>

/** The text in a colour or a weight, where the output is a terminal that has colours, and NO_COLOR is not set. */
export function painted(paint: Paint, text: string): string {
  return styleText(paint, text, { stream: process.stdout })
}

/** Where a line wraps that has a longer word, in characters, however narrow the terminal. */
const narrowest = 20

/**
 * The text with its lines wrapped between words at the width of the terminal. It is as it was where there is none: then
 * programs read it, line by line.
 * @param indent what stands before each line but the first
 */
export function wrapped(text: string, indent = '', { isTTY, columns }: Shown = process.stdout): string {
  // The width of some terminals is not known, and 0.
  return isTTY ? linesOf(text, columns || 80, indent).join('\n') : text.replaceAll('\n', `\n${indent}`)
}

/** The lines of a text, wrapped at this width. */
export function linesOf(text: string, width: number, indent = ''): readonly string[] {
  const most = Math.max(narrowest, width)
  const lines: string[] = []
  for (const given of text.split('\n')) {
    let line = lines.length === 0 ? '' : indent
    let isEmpty = true
    for (const word of given.split(' ')) {
      // A word that is longer than a line stays whole: it may be an address.
      if (!isEmpty && line.length + 1 + word.length > most) {
        lines.push(line)
        line = indent
        isEmpty = true
      }
      line += isEmpty ? word : ` ${word}`
      isEmpty = false
    }
    lines.push(line)
  }
  return lines
}

/** The text with a \u{fffd} for each control character, and for each that is invisible or changes the direction of text. */
export function plain(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\u{fffd}')
}
