// Converts a generation's events into chat deltas: tokens become text, log-probabilities and finishes. Does not
// submit, abort or count requests.
import { assert, present, unreachable } from "../../../base/domain/assert.ts";
import type {
  ChatDelta,
  ChatFinish,
  ChatHeader,
  ChatPromptLogprob,
  ChatRankedToken,
  ChatRequest,
  ChatUsage,
} from "../../../base/domain/chat.ts";
import {
  type Generation,
  type GenerationEvent,
  type PromptLogprob,
  type RankedToken,
  choiceCountOf,
} from "../../../base/domain/generation.ts";
import type { PassedParameters } from "../../../base/domain/prompt-transfer.ts";
import type { Tokenizer } from "../../../lib/tokenizer/tokenizer.ts";
import { type AnswerReader, createAnswerReader, choiceReaders, withAddedText } from "./choice-reader.ts";
import { joinedPieces } from "./reply-pieces.ts";
import type { GenerationPlan } from "../plan-generation.ts";
import type { ServedBase } from "../served-base.ts";

type EventOf<Kind extends GenerationEvent["kind"]> = Extract<GenerationEvent, { readonly kind: Kind }>;

/**
 * Reads the events of one generation. If a stop string or the last permitted call ends a choice, stops that choice in
 * the engine.
 */
export class DeltaReader {
  /** Notices for the client about the constraint, one sentence each. */
  readonly notices: string[] = [];
  readonly #generation: Pick<Generation, "stopChoice">;
  readonly #plan: GenerationPlan;
  readonly #tokenizer: Tokenizer;
  readonly #choices: ChoiceState[];
  readonly #promptLogprobs: (ChatPromptLogprob | null)[] = [];
  #usage: ChatUsage;
  #isPromptHeld = false;
  #passedOn: PassedParameters | null = null;
  #waitedMs: number | null = null;

  constructor(generation: Pick<Generation, "stopChoice">, plan: GenerationPlan, options: DeltaOptions) {
    this.#generation = generation;
    this.#plan = plan;
    this.#tokenizer = options.base.tokenizer;
    this.#choices = startChoices(plan, options);
    this.#usage = initialUsage(plan);
  }

  /** Tokens used so far. */
  get usage(): ChatUsage {
    return this.#usage;
  }

  /** Number of choices, as in {@link ChatHeader}. Known once {@link read} has returned deltas. */
  get choiceCount(): number {
    return this.#choices.length;
  }

  /** Log-probabilities of the prompt. Known once {@link read} has returned deltas. */
  get promptLogprobs(): ChatHeader["promptLogprobs"] {
    return this.#plan.generation.outputs.promptLogprobCount === null ? null : this.#promptLogprobs;
  }

  /** True if the engine holds the prompt for another server. Known once {@link read} has returned deltas. */
  get isPromptHeld(): boolean {
    return this.#isPromptHeld;
  }

  /**
   * Passing parameters that the vLLM servers behind the engine returned; null if there are none. Known once {@link
   * read} has returned deltas.
   */
  get passedOn(): PassedParameters | null {
    return this.#passedOn;
  }

  /**
   * Milliseconds that the request waited in the engine; null if the engine does not report it. Known once {@link read}
   * has returned deltas.
   */
  get waitedMs(): number | null {
    return this.#waitedMs;
  }

  get isFinished(): boolean {
    return this.#choices.every((choice) => choice.isFinished);
  }

  /**
   * Returns one delta for each event with tokens. If a choice finishes in the same batch, its last delta contains the
   * finish.
   *
   * @returns null until the prompt is computed and, for a beam search, the number of answers is known
   */
  read(events: readonly GenerationEvent[]): readonly ChatDelta[] | null {
    const deltas: ChatDelta[] = [];
    for (const event of events) this.#take(event, deltas);
    const isSearched = this.#plan.generation.choices.kind === "beam";
    const isBegun = isSearched
      ? deltas.length > 0
      : events.some(({ kind }) => kind !== "constraint-noted" && kind !== "prompt-logprobs");
    return isBegun ? deltas : null;
  }

  #take(event: GenerationEvent, deltas: ChatDelta[]): void {
    switch (event.kind) {
      case "constraint-noted":
        this.notices.push(...event.notices);
        return;
      case "prompt-logprobs":
        this.#promptLogprobs.push(...withTexts(event.tokens, this.#tokenizer));
        return;
      case "prompt-computed":
        this.#usage = { ...this.#usage, cachedTokens: event.cachedTokenCount };
        this.#isPromptHeld = event.isHeld === true;
        this.#passedOn = event.passed ?? null;
        this.#waitedMs = event.waitedMs ?? null;
        return;
      case "prompt-cached":
        this.#usage = { ...this.#usage, cachedTokens: event.cachedTokenCount };
        return;
      case "choices-found":
        this.#choices.length = event.count;
        return;
      case "tokens":
      case "choice-finished":
        this.#takeOfChoice(event, deltas);
        return;
      case "embedding":
        return assert(false, "a chat asks for no embedding");
      default:
        unreachable(event);
    }
  }

  #takeOfChoice(event: EventOf<"tokens" | "choice-finished">, deltas: ChatDelta[]): void {
    const { choice } = event;
    const state = present(this.#choices[choice], "the choice of an engine's event");
    // Tokens of a finished choice are ignored. The engine may generate a few more before it learns that the choice was
    // stopped.
    if (state.isFinished) return;
    if (event.kind === "tokens") {
      const delta = takeTokens(event, state, { before: this.#usage, plan: this.#plan });
      this.#usage = delta.usage;
      deltas.push(delta);
      if (state.isFinished) this.#generation.stopChoice(choice);
    } else {
      const index = deltas.findLastIndex((delta) => delta.choice === choice);
      const before = deltas[index] ?? emptyDelta(choice, state, this.#usage);
      const last = finishChoice(event, state, { before, plan: this.#plan });
      deltas.splice(index < 0 ? deltas.length : index, 1, last);
    }
  }
}

/** Returns the usage of a request before the engine has emitted any event. */
export function initialUsage(plan: GenerationPlan): ChatUsage {
  return { promptTokens: plan.generation.prompt.tokenIds.length, completionTokens: 0, cachedTokens: 0 };
}

interface DeltaOptions {
  readonly base: Pick<ServedBase, "tokenizer" | "replies">;
  readonly request: Pick<ChatRequest, "stopping" | "output">;
}

/** State of a choice while its answer is read. */
interface ChoiceState {
  readonly reader: AnswerReader;
  tokenCount: number;
  isFinished: boolean;
}

function startChoices(
  { generation, reply }: GenerationPlan,
  { base: { tokenizer, replies }, request }: DeltaOptions,
): ChoiceState[] {
  const { stopping, output } = request;
  const openReader = choiceReaders(tokenizer, {
    stops: { stops: stopping.stop, includesStop: stopping.includeStopText },
    minTokens: generation.stopping.minTokens,
    stopTokenIds: new Set(generation.stopping.stopTokenIds),
    skipsSpecialTokens: output.skipSpecialTokens,
    shownSpecialIds: replies.markIds,
    hasLogprobs: generation.outputs.topLogprobCount !== null,
  });
  return Array.from({ length: choiceCountOf(generation) }, () => ({
    reader: createAnswerReader(openReader(), reply.form, output),
    tokenCount: 0,
    isFinished: false,
  }));
}

/**
 * Updates the state of a choice with new tokens, and returns their delta. `before` is the usage without these tokens.
 */
function takeTokens(
  { choice, tokens }: EventOf<"tokens">,
  state: ChoiceState,
  { before, plan }: { readonly before: ChatUsage; readonly plan: GenerationPlan },
): ChatDelta {
  // The fields are copied one by one, because spreading objects would add a tenth to the server's cost of each token.
  const { text, reasoning, toolCalls, tokenIds, logprobs, matchedStop, isComplete } =
    state.reader.take(tokens);
  state.tokenCount += tokenIds.length;
  state.isFinished = isComplete;
  const { promptTokens, cachedTokens } = before;
  const completionTokens = before.completionTokens + tokenIds.length;
  const usage = { promptTokens, completionTokens, cachedTokens };
  const finish = isComplete ? finishOf({ reason: "stop", stopReason: null, matchedStop }, state, plan) : null;
  const { tokenCount: choiceTokens } = state;
  return { choice, text, reasoning, toolCalls, tokenIds, logprobs, finish, usage, choiceTokens };
}

/** Returns the last delta of a choice: `before`, extended by the remaining text and the finish. */
function finishChoice(
  event: EventOf<"choice-finished">,
  state: ChoiceState,
  { before, plan }: { readonly before: ChatDelta; readonly plan: GenerationPlan },
): ChatDelta {
  state.isFinished = true;
  const { unfinished, matchedStop, ...piece } = state.reader.end();
  const stopReason = event.stopTokenId === plan.endOfTextId ? null : event.stopTokenId;
  const finish: ChatFinish =
    matchedStop === null
      ? { reason: event.reason, stopReason, matchedStop: null }
      : { reason: "stop", stopReason: null, matchedStop };
  const last = before.logprobs.at(-1);
  const logprobs =
    last === undefined || unfinished === ""
      ? before.logprobs
      : [...before.logprobs.slice(0, -1), withAddedText(last, unfinished)];
  return { ...before, ...joinedPieces(before, piece), logprobs, finish: finishOf(finish, state, plan) };
}

/**
 * Returns the finish of a choice. An answer with tool calls gets the plan's reason for calls, unless it was truncated.
 */
function finishOf(finish: ChatFinish, { reader }: ChoiceState, { reply }: GenerationPlan): ChatFinish {
  return finish.reason === "stop" && reader.callCount > 0
    ? { ...finish, reason: reply.finishOfCalls }
    : finish;
}

function emptyDelta(choice: number, state: ChoiceState, usage: ChatUsage): ChatDelta {
  return {
    choice,
    text: "",
    reasoning: "",
    toolCalls: [],
    tokenIds: [],
    logprobs: [],
    finish: null,
    usage,
    choiceTokens: state.tokenCount,
  };
}

/**
 * Adds each token's text to the prompt's log-probabilities. Each token is decoded separately; only in answers are the
 * bytes of tokens joined.
 */
function withTexts(
  tokens: readonly (PromptLogprob | null)[],
  tokenizer: Tokenizer,
): readonly (ChatPromptLogprob | null)[] {
  const named = ({ id, logprob, rank }: RankedToken): ChatRankedToken => ({
    tokenId: id,
    text: tokenizer.tokenText(id),
    logprob,
    rank,
  });
  return tokens.map((token) => token && { ...named(token), alternatives: token.alternatives.map(named) });
}
