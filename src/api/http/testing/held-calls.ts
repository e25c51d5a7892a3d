// For tests: holds back the result of one call that a server makes to its dependencies, while something happens to the
// client. The call is chosen by its number.
import type { HttpDependencies } from "../dependencies.ts";

/** Calls that the server makes periodically rather than for a request. */
const ownCalls: readonly PropertyKey[] = ["findEnded"];

/** Wraps the dependencies of a server. The results of all asynchronous calls to them then pass through this object. */
export class HeldCalls {
  #skipped = Infinity;
  #pending = 0;
  #onHeld: () => void = () => undefined;
  #released: Promise<void> = Promise.resolve();

  wrap(dependencies: HttpDependencies): HttpDependencies {
    const entries = Object.entries(dependencies).map(([name, part]) => [name, this.#wrapped(name, part)]);
    return Object.fromEntries(entries) as HttpDependencies;
  }

  /** Lets `skipped` results pass, then holds back the next one. */
  hold(skipped: number): { readonly held: Promise<void>; readonly release: () => void } {
    let release = (): void => undefined;
    this.#skipped = skipped;
    this.#released = new Promise((resolve) => (release = resolve));
    const held = new Promise<void>((resolve) => (this.#onHeld = resolve));
    return {
      held,
      release: () => {
        this.#skipped = Infinity;
        release();
      },
    };
  }

  /** Resolves once no call has been pending for 30 turns of the event loop. */
  async quiet(): Promise<void> {
    for (let turns = 0; turns < 30; turns = this.#pending === 0 ? turns + 1 : 0)
      await new Promise((resolve) => setImmediate(resolve));
  }

  #wrapped(name: PropertyKey, part: unknown): unknown {
    if (typeof part === "function" && !ownCalls.includes(name))
      return (...given: unknown[]) => this.#watched(part.apply(undefined, given) as unknown);
    if (typeof part !== "object" || part === null || !holdsCalls.includes(String(name))) return part;
    return new Proxy(part, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key, target);
        if (typeof value !== "function" || ownCalls.includes(key)) return value;
        return (...given: unknown[]) => this.#watched(value.apply(target, given) as unknown);
      },
    });
  }

  #watched(result: unknown): unknown {
    if (result instanceof Promise) return this.#pass(result);
    const isPlainIterable =
      typeof result === "object" && result !== null && Symbol.asyncIterator in result && !("pipe" in result);
    return isPlainIterable ? this.#passEach(result as AsyncIterable<unknown>) : result;
  }

  async #pass(result: Promise<unknown>): Promise<unknown> {
    this.#pending += 1;
    try {
      return await result;
    } finally {
      await this.#wait();
      this.#pending -= 1;
    }
  }

  async *#passEach(results: AsyncIterable<unknown>): AsyncGenerator {
    for await (const result of results) {
      this.#pending += 1;
      await this.#wait();
      this.#pending -= 1;
      yield result;
    }
  }

  async #wait(): Promise<void> {
    if (this.#skipped-- !== 0) return;
    this.#onHeld();
    await this.#released;
  }
}

/** Names of the dependencies that the server calls while it answers requests. */
const holdsCalls: readonly string[] = [
  ..."chat tokenization checks directory keys models checkpointFiles versions jobs".split(" "),
  ..."jobQueue trajectories feedback files".split(" "),
];
