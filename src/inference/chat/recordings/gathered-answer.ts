// Collects an answer as it arrives, up to a maximum size.
import { assert } from "../../../base/domain/assert.ts";
import type { ChatDelta, ChatFinish, ToolCallDelta } from "../../../base/domain/chat.ts";
import type {
  RecordedCall,
  RecordedChoice,
  TokenRecord,
} from "../../../base/domain/recordings/recorded-completion.ts";

/** Estimated size in bytes of one token of an answer, including its log-probability and its text. */
export const tokenBytes = 20;

interface GatheredChoice {
  text: string;
  reasoning: string;
  /** Tool calls; each call's index equals its position in this list. */
  readonly toolCalls: ToolCallDelta[];
  readonly tokenIds: number[];
  readonly logprobs: TokenRecord[];
  finish: ChatFinish | null;
}

export class GatheredAnswer {
  readonly #bytesMax: number;
  /** Choices collected so far; null once they exceed the size limit. */
  #choices: GatheredChoice[] | null;
  #beginning = "";
  readonly #finishes: ChatFinish["reason"][];
  readonly #lengthOfBeginning: number;
  #bytes = 0;
  #hasLogprobs = false;

  /**
   * @param bytesMax maximum estimated size; if the answer is larger, only its beginning is kept
   * @param beginning maximum length of {@link beginning}, in characters
   */
  constructor(
    choiceCount: number,
    { bytesMax, beginning }: { readonly bytesMax: number; readonly beginning: number },
  ) {
    this.#bytesMax = bytesMax;
    this.#lengthOfBeginning = beginning;
    this.#finishes = Array.from({ length: choiceCount }, () => "stop" as const);
    this.#choices = Array.from({ length: choiceCount }, () => ({
      text: "",
      reasoning: "",
      toolCalls: [],
      tokenIds: [],
      logprobs: [],
      finish: null,
    }));
  }

  /** Size of the collected answer in bytes, estimated from its texts and {@link tokenBytes}. */
  get bytes(): number {
    return this.#bytes;
  }

  get hasLogprobs(): boolean {
    return this.#hasLogprobs;
  }

  get finishReasons(): readonly ChatFinish["reason"][] {
    return this.#finishes;
  }

  /** Beginning of the first choice, from its text and its tool calls. */
  get beginning(): string {
    return this.#beginning.slice(0, this.#lengthOfBeginning);
  }

  /** The choices to record; null if they exceeded the size limit. Valid only once every choice has finished. */
  get choices(): readonly RecordedChoice[] | null {
    return this.#choices?.map(recordedChoice) ?? null;
  }

  add(delta: ChatDelta): void {
    if (delta.choice === 0) this.#addBeginning(delta);
    if (delta.finish !== null) this.#finishes[delta.choice] = delta.finish.reason;
    this.#hasLogprobs ||= delta.logprobs.length > 0;
    this.#bytes += delta.tokenIds.length * tokenBytes + delta.text.length + delta.reasoning.length;
    for (const { argumentsText } of delta.toolCalls) this.#bytes += argumentsText.length;
    if (this.#bytes > this.#bytesMax) this.#choices = null;
    const choice = this.#choices?.[delta.choice];
    if (choice !== undefined) addDelta(choice, delta);
  }

  #addBeginning({ text, toolCalls }: ChatDelta): void {
    if (this.#beginning.length >= this.#lengthOfBeginning) return;
    this.#beginning += text;
    for (const { name, argumentsText } of toolCalls) this.#beginning += (name ?? "") + argumentsText;
  }
}

function addDelta(choice: GatheredChoice, delta: ChatDelta): void {
  choice.text += delta.text;
  choice.reasoning += delta.reasoning;
  for (const call of delta.toolCalls) {
    const before = choice.toolCalls[call.index];
    const argumentsText = (before?.argumentsText ?? "") + call.argumentsText;
    choice.toolCalls[call.index] = { ...before, ...call, argumentsText };
  }
  for (const id of delta.tokenIds) choice.tokenIds.push(id);
  // Alternatives are not collected, because no reader of recordings uses them.
  for (const { logprob, bytes } of delta.logprobs) choice.logprobs.push({ logprob, bytes });
  choice.finish = delta.finish ?? choice.finish;
}

function recordedChoice({ toolCalls, tokenIds, logprobs, finish, ...texts }: GatheredChoice): RecordedChoice {
  assert(finish !== null, "every choice finishes");
  return {
    ...texts,
    toolCalls: toolCalls.map(recordedCall),
    finish,
    tokenIds,
    // Log-probabilities are recorded only if each token has one.
    logprobs: logprobs.length === tokenIds.length && tokenIds.length > 0 ? logprobs : null,
  };
}

function recordedCall({ id = "", name = "", argumentsText, isText }: ToolCallDelta): RecordedCall {
  return { id, name, argumentsText, isText: isText === true };
}
