// Limits how long the server may send nothing, before its answer and between two chunks. Time counts only while the
// caller is waiting for data.

export class Deadline {
  readonly #controller = new AbortController();
  readonly timeoutMs: number;
  readonly #given: AbortSignal | undefined;
  /** Aborts at the timeout, or when the caller's signal aborts. */
  readonly signal: AbortSignal;

  constructor(timeoutMs: number, given: AbortSignal | undefined) {
    this.timeoutMs = timeoutMs;
    this.#given = given;
    const { signal } = this.#controller;
    this.signal = given === undefined ? signal : AbortSignal.any([signal, given]);
  }

  /** True if the timeout has passed; false if the caller aborted. */
  get isOver(): boolean {
    return this.#controller.signal.aborted;
  }

  /** Throws the reason of the caller's signal if that has aborted. */
  throwIfGivenUp(): void {
    this.#given?.throwIfAborted();
  }

  /** Waits for the promise or the timeout, whichever is first, even if the awaited operation ignores the signal. */
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
