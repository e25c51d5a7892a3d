// Measures another constraint engine, web-xgrammar, for comparison with Hone in bench/grammar.ts. It runs in a separate
// thread. The thread is restarted if web-xgrammar's compiler takes too long or crashes.
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { packVocabulary } from "../../src/base/domain/vocabulary.ts";
import type { Json } from "../../src/base/domain/text/json.ts";
import type { TokenVocabulary } from "../../src/base/domain/vocabulary.ts";
import type { Times, TokenText } from "./grammar-times.ts";

/** Message to the thread: a schema, and texts that the schema allows. */
export interface WritingRequest {
  readonly schema: Json;
  readonly texts: readonly TokenText[];
}

/**
 * Result for a schema: the measured times and whether every text was accepted, or the reason why the schema could not
 * be measured.
 */
export type Outcome =
  | { readonly kind: "measured"; readonly times: Times; readonly acceptsAll: boolean }
  | { readonly kind: "refused" | "too-slow" | "crashed" };

export type ThreadAnswer = "ready" | Outcome;

const startDeadlineMs = 60_000;

export class OtherGrammarEngine {
  readonly #vocabulary: TokenVocabulary;
  readonly #deadlineMs: number;
  #thread: Worker | null = null;

  /** @param deadlineMs time limit for one schema */
  constructor(tokens: readonly (Uint8Array | null)[], deadlineMs: number) {
    this.#vocabulary = packVocabulary(tokens);
    this.#deadlineMs = deadlineMs;
  }

  async write(request: WritingRequest): Promise<Outcome> {
    const thread = this.#thread ?? (await this.#started());
    this.#thread = thread;
    thread.postMessage(request, []);
    const answer = await answerOf(thread, this.#deadlineMs);
    if (answer === "ready") throw new Error("the thread answers each request once");
    if (answer.kind === "crashed" || answer.kind === "too-slow") await this.stop();
    return answer;
  }

  async stop(): Promise<void> {
    await this.#thread?.terminate();
    this.#thread = null;
  }

  async #started(): Promise<Worker> {
    const file = new URL("other-grammar-thread.js", import.meta.url);
    const thread = new Worker(file, { workerData: this.#vocabulary, stdout: true, stderr: true });
    // Ignores errors here. An error without a pending request makes the next request fail.
    thread.on("error", () => {});
    const answer = await answerOf(thread, startDeadlineMs);
    if (answer !== "ready") throw new Error(`the other engine does not start: ${JSON.stringify(answer)}`);
    return thread;
  }
}

/** Returns the thread's next answer, or the reason why there is none. */
async function answerOf(thread: Worker, deadlineMs: number): Promise<ThreadAnswer> {
  const signal = AbortSignal.timeout(deadlineMs);
  try {
    const [answer] = await once(thread, "message", { signal });
    // Safe cast: the thread sends no other messages.
    return answer as ThreadAnswer;
  } catch {
    return { kind: signal.aborted ? "too-slow" : "crashed" };
  }
}
