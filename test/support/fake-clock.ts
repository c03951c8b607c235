import { VirtualClock } from '../../src/testing/virtual-fleet/virtual-clock.ts'

export { settled } from '../../src/testing/virtual-fleet/virtual-clock.ts'

/** The clock of virtual fleets, as one that has been running for a second. */
export class FakeClock extends VirtualClock {
  constructor() {
    super(1_000)
  }
}
