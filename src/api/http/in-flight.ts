// How many requests of one key may be in flight at once. Counts only; fairness between keys is for the engine.
import { ServiceError } from "../../base/domain/service-error.ts";

export class InFlight {
  readonly #max: number;
  readonly #counts = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Counts a request in.
   *
   * @returns what counts it out again; calling it twice counts once
   * @throws ServiceError `overloaded` when the key has its share in flight
   */
  enter(keyId: string): () => void {
    const count = this.#counts.get(keyId) ?? 0;
    if (count >= this.#max) {
      const message = `This key has ${count} requests in flight, the most it may have. Wait for one to end.`;
      throw new ServiceError({ code: "overloaded", message, retryAfterSeconds: 1 });
    }
    this.#counts.set(keyId, count + 1);
    let isInside = true;
    return () => {
      if (isInside) this.#leave(keyId);
      isInside = false;
    };
  }

  #leave(keyId: string): void {
    const count = (this.#counts.get(keyId) ?? 1) - 1;
    if (count === 0) this.#counts.delete(keyId);
    else this.#counts.set(keyId, count);
  }

  /** Over all keys. */
  total(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }
}
