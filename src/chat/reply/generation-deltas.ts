// From a generation's events to chat deltas: the engine's tokens become text, log-probabilities and finishes. Does not
// submit, abort or count requests.
import { setImmediate } from "node:timers/promises";
import { assert, present, unreachable } from "../../domain/assert.ts";
import type {
  ChatDelta,
  ChatFinish,
  ChatHeader,
  ChatPromptLogprob,
  ChatRequest,
  ChatUsage,
} from "../../domain/chat.ts";
import { choiceCountOf, type Generation, type GenerationEvent } from "../../domain/generation.ts";
import type { Tokenizer } from "../../tokenizer/tokenizer.ts";
import { createAnswerReader, type AnswerReader } from "./answer-reader.ts";
import { choiceReaders, withAddedText } from "./choice-reader.ts";
import { portionsOf } from "./portions.ts";
import { joinedPieces } from "./reply-pieces.ts";
import type { GenerationPlan } from "../plan-generation.ts";
import { withTexts } from "./prompt-logprobs.ts";

type EventOf<Kind extends GenerationEvent["kind"]> = Extract<GenerationEvent, { readonly kind: Kind }>;

/** What came at once. Without deltas it says that the prompt was computed, and nothing of a search is known by then. */
export interface DeltaBatch {
  /** As in {@link ChatHeader}; the same in every batch. */
  readonly promptLogprobs: ChatHeader["promptLogprobs"];
  /** As in {@link ChatHeader}; the same in every batch. */
  readonly choiceCount: number;
  /** What the client should know of the constraint; the same in every batch. */
  readonly notices: readonly string[];
  readonly deltas: readonly ChatDelta[];
  readonly usage: ChatUsage;
}

/**
 * Yields one delta per engine event with tokens, the finish on a choice's last delta where both came at once,
 * and returns when every choice has finished. Stops a choice in the engine when a stop string, or the
 * last call that it may have, ends it.
 *
 * @throws whatever the engine throws; ServiceError `cancelled` after an abort
 */
export async function* generationDeltas(
  generation: Generation,
  plan: GenerationPlan,
  options: DeltaOptions,
): AsyncGenerator<DeltaBatch> {
  const choices = startChoices(plan, options);
  let usage = usageAtStart(plan);
  const isSearched = plan.generation.choices.kind === "beam";
  const logprobCount = 1 + (plan.generation.outputs.topLogprobCount ?? 0);
  const notices: string[] = [];
  const scored: (ChatPromptLogprob | null)[] = [];
  const promptLogprobs = plan.generation.outputs.promptLogprobCount === null ? null : scored;
  const read = (events: readonly GenerationEvent[]): readonly ChatDelta[] => {
    const deltas: ChatDelta[] = [];
    for (const event of events) {
      if (event.kind === "constraint-noted") {
        notices.push(...event.notices);
        continue;
      }
      if (event.kind === "prompt-logprobs") {
        scored.push(...withTexts(event.tokens, options.tokenizer));
        continue;
      }
      if (event.kind === "prompt-computed") {
        usage = { ...usage, cachedTokens: event.cachedTokenCount };
        continue;
      }
      if (event.kind === "choices-found") {
        choices.length = event.count;
        continue;
      }
      const state = present(choices[event.choice], "the choice of an engine's event");
      // The engine may have computed a little more before it heard that the choice was stopped.
      if (state.isFinished) continue;
      switch (event.kind) {
        case "tokens": {
          const delta = takeTokens(event, state, { before: usage, plan });
          usage = delta.usage;
          deltas.push(delta);
          if (state.isFinished) generation.stopChoice(event.choice);
          break;
        }
        case "choice-finished": {
          const index = deltas.findLastIndex((delta) => delta.choice === event.choice);
          const before = deltas[index] ?? emptyDelta(event.choice, state, usage);
          deltas.splice(index < 0 ? deltas.length : index, 1, finishChoice(event, state, { before, plan }));
          break;
        }
        default:
          unreachable(event);
      }
    }
    return deltas;
  };
  for await (const batch of generation.events) {
    for (const portion of portionsOf(batch, logprobCount)) {
      if (portion[0] !== batch[0]) await setImmediate();
      const deltas = read(portion);
      // The prompt is not computed yet, or it is not known yet how many answers there are.
      if (portion.every(({ kind }) => kind === "constraint-noted" || kind === "prompt-logprobs")) continue;
      if (isSearched && deltas.length === 0) continue;
      yield { promptLogprobs, choiceCount: choices.length, notices, deltas, usage };
      if (choices.every((choice) => choice.isFinished)) return;
    }
  }
  assert(
    choices.every((choice) => choice.isFinished),
    "an engine finishes every choice or throws",
  );
}

/** The usage before the engine has emitted anything. */
export function usageAtStart(plan: GenerationPlan): ChatUsage {
  return { promptTokens: plan.generation.prompt.tokenIds.length, completionTokens: 0, cachedTokens: 0 };
}

interface DeltaOptions {
  readonly tokenizer: Tokenizer;
  readonly request: Pick<ChatRequest, "stopping" | "output">;
  /** Special tokens that are text. */
  readonly shownSpecialIds: ReadonlySet<number>;
}

/** One choice while it is read. */
interface ChoiceState {
  readonly reader: AnswerReader;
  tokenCount: number;
  isFinished: boolean;
}

function startChoices(
  { generation, reply }: GenerationPlan,
  { tokenizer, request, shownSpecialIds }: DeltaOptions,
): ChoiceState[] {
  const { stopping, output } = request;
  const openReader = choiceReaders(tokenizer, {
    stops: { stops: stopping.stop, includesStop: stopping.includeStopText },
    minTokens: generation.stopping.minTokens,
    stopTokenIds: new Set(generation.stopping.stopTokenIds),
    skipsSpecialTokens: output.skipSpecialTokens,
    shownSpecialIds,
    hasLogprobs: generation.outputs.topLogprobCount !== null,
  });
  return Array.from({ length: choiceCountOf(generation) }, () => ({
    reader: createAnswerReader(openReader(), reply.form, output),
    tokenCount: 0,
    isFinished: false,
  }));
}

/** Moves the state on; `before` is the usage without these tokens. */
function takeTokens(
  { choice, tokens }: EventOf<"tokens">,
  state: ChoiceState,
  { before, plan }: { readonly before: ChatUsage; readonly plan: GenerationPlan },
): ChatDelta {
  const { matchedStop, isComplete, ...piece } = state.reader.take(tokens);
  state.tokenCount += piece.tokenIds.length;
  state.isFinished = isComplete;
  const usage = { ...before, completionTokens: before.completionTokens + piece.tokenIds.length };
  const finish = isComplete ? finishOf({ reason: "stop", stopReason: null, matchedStop }, state, plan) : null;
  return { ...emptyDelta(choice, state, usage), ...piece, finish };
}

/** The choice's last delta, `before`, with the end of its text and its finish. */
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

/** An answer that was not cut and calls tools ends for that. */
function finishOf(finish: ChatFinish, { reader }: ChoiceState, { reply }: GenerationPlan): ChatFinish {
  return finish.reason === "stop" && reader.callCount > 0
    ? { ...finish, reason: reply.finishOfCalls }
    : finish;
}

function emptyDelta(choice: number, state: ChoiceState, usage: ChatUsage): ChatDelta {
  return {
    kind: "delta",
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
