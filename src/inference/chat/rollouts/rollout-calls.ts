// Finds the earlier call of a rollout that a new call continues, and adds its exact tokens to the request. The prompt
// then begins with the sampled tokens instead of another tokenization of their text.
import type { ChatRequest } from "../../../base/domain/chat.ts";
import {
  anyCompletion,
  type CompletionStore,
  type StoredCompletion,
} from "../../../base/domain/recordings/completion-store.ts";
import type { RolloutPass } from "../../../base/domain/rollouts/rollout.ts";
import { answeredText, nextHash, saidText, startHash } from "./said-text.ts";

export interface RolloutCallsDependencies {
  readonly completions: Pick<CompletionStore, "list" | "find">;
  /** Maximum number of calls that are remembered, of all rollouts together. */
  readonly callsMax?: number;
}

/** The parts of a rollout's call that are needed to recognize later calls that continue it. */
interface KnownCall {
  readonly projectId: string;
  readonly requestId: string;
  /** For each choice, the hash of the conversation up to and including its answer. */
  readonly answers: readonly string[];
}

interface KnownRollout {
  /** Number of the last recorded call that is known. */
  last: number | null;
  readonly calls: KnownCall[];
}

/** Number of remembered calls of all rollouts together, each of about 300 bytes. */
const callsMaxDefault = 200_000;
const pageMax = 100;

export class RolloutCalls {
  readonly #dependencies: RolloutCallsDependencies;
  /** Known rollouts, in the order of their last use. A rollout that was forgotten is read again. */
  readonly #known = new Map<string, KnownRollout>();

  constructor(dependencies: RolloutCallsDependencies) {
    this.#dependencies = dependencies;
  }

  /** Returns the request, with the tokens of an earlier answer added: the last answer that the request repeats. */
  async continueCall({ id }: RolloutPass, request: ChatRequest): Promise<ChatRequest> {
    const { calls } = await this.#callsOf(id);
    const { prompt } = request;
    if (prompt.kind !== "conversation" || calls.length === 0) return request;
    const answers = new Map(
      calls.flatMap((call) => call.answers.map((hash, choice) => [hash, { call, choice }])),
    );
    let hash = startHash(prompt.tools);
    let last: { readonly messageIndex: number; readonly call: KnownCall; readonly choice: number } | null =
      null;
    for (const [messageIndex, message] of prompt.messages.entries()) {
      hash = nextHash(hash, saidText(message));
      const found = answers.get(hash);
      if (found !== undefined) last = { messageIndex, ...found };
    }
    const content = last && (await this.#dependencies.completions.find(last.call))?.content;
    const choice = last && content?.choices[last.choice];
    if (!last || !content || !choice) return request;
    const { messageIndex } = last;
    const tokenIds = [...content.promptTokenIds, ...choice.tokenIds];
    return {
      ...request,
      prompt: { ...prompt, sampled: { messageIndex, tokenIds, reasoning: choice.reasoning } },
    };
  }

  /** Returns the recorded calls of a rollout. Reads only calls that this server has not read before. */
  async #callsOf(rolloutId: string): Promise<KnownRollout> {
    const { completions } = this.#dependencies;
    const known = this.#known.get(rolloutId) ?? { last: null, calls: [] };
    this.#known.delete(rolloutId);
    this.#known.set(rolloutId, known);
    for (let hasMore = true; hasMore;) {
      const page = { after: known.last, limit: pageMax, order: "asc" } as const;
      const { items, ...rest } = await completions.list({ ...anyCompletion, rolloutId }, page);
      for (const item of items) {
        // A concurrent call of the rollout may have added this item meanwhile.
        if (known.last !== null && item.number <= known.last) continue;
        known.last = item.number;
        const stored = await completions.find(item);
        const call = stored && knownCall(stored);
        if (call !== null) known.calls.push(call);
      }
      ({ hasMore } = rest);
    }
    this.#forgetOldest();
    return known;
  }

  #forgetOldest(): void {
    let count = 0;
    for (const { calls } of this.#known.values()) count += calls.length;
    for (const [id, { calls }] of this.#known) {
      if (count <= (this.#dependencies.callsMax ?? callsMaxDefault)) break;
      count -= calls.length;
      this.#known.delete(id);
    }
  }
}

function knownCall({ projectId, requestId, content }: StoredCompletion): KnownCall | null {
  if (content === null) return null;
  const { prompt, choices } = content;
  if (prompt.kind !== "conversation") return { projectId, requestId, answers: [] };
  let before = startHash(prompt.tools);
  for (const message of prompt.messages) before = nextHash(before, saidText(message));
  return { projectId, requestId, answers: choices.map((choice) => nextHash(before, answeredText(choice))) };
}
