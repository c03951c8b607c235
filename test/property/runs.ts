/** So many inputs in the proof of a room, and a tenth of them in the gate. */
export function runs(thorough: number): number {
  return process.env['THOROUGH'] === 'yes' ? thorough : Math.ceil(thorough / 10)
}
