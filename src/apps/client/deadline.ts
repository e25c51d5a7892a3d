// How long a server may be silent: until its answer begins, and between two pieces of it. Runs only while somebody waits.

export class Deadline {
  readonly #controller = new AbortController();
  readonly timeoutMs: number;
  readonly #given: AbortSignal | undefined;
  /** Aborts when the time is over, or with the caller's own. */
  readonly signal: AbortSignal;

  constructor(timeoutMs: number, given: AbortSignal | undefined) {
    this.timeoutMs = timeoutMs;
    this.#given = given;
    const { signal } = this.#controller;
    this.signal = given === undefined ? signal : AbortSignal.any([signal, given]);
  }

  /** Whether the time was over, rather than that the caller gave up. */
  get isOver(): boolean {
    return this.#controller.signal.aborted;
  }

  /** Throws the caller's own reason where the caller gave up. */
  throwIfGivenUp(): void {
    this.#given?.throwIfAborted();
  }

  /** Waits for what the server does next, and no longer, whether or not that heeds the signal. */
  while<T>(next: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const timer = setTimeout(() => {
        const reason = new DOMException("it took too long", "TimeoutError");
        this.#controller.abort(reason);
        reject(reason);
      }, this.timeoutMs);
      next.then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }
}
