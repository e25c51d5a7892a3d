// Limits the silence of a server: before its answer, and between two chunks of it. The clock runs only while the
// caller waits.

export class Deadline {
  readonly #controller = new AbortController();
  readonly timeoutMs: number;
  readonly #given: AbortSignal | undefined;
  /** Aborts at the timeout, or with the caller's signal. */
  readonly signal: AbortSignal;

  constructor(timeoutMs: number, given: AbortSignal | undefined) {
    this.timeoutMs = timeoutMs;
    this.#given = given;
    const { signal } = this.#controller;
    this.signal = given === undefined ? signal : AbortSignal.any([signal, given]);
  }

  /** True if the timeout has passed, as opposed to an abort by the caller. */
  get isOver(): boolean {
    return this.#controller.signal.aborted;
  }

  /** Throws the caller's abort reason if the caller aborted. */
  throwIfGivenUp(): void {
    this.#given?.throwIfAborted();
  }

  /** Waits for the server's next step until the deadline, even if that step ignores the signal. */
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
