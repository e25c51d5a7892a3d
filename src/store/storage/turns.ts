// One at a time: for what a connection cannot do twice at once. Has no deadline: a turn lasts until its task ends.

/** Lets one in at a time, in the order they came. */
export class Turns {
  #last: Promise<void> = Promise.resolve();

  /** Resolves when all earlier turns have ended; what it resolves with ends this one. */
  async take(): Promise<() => void> {
    const earlier = this.#last;
    let end: () => void = () => undefined;
    this.#last = new Promise((resolve) => (end = resolve));
    await earlier;
    return end;
  }
}
