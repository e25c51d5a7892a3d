// Writes the answer to a chat or a completion in Ollama's API, either as the lines of a stream or as one object with
// the content of all lines.
import { assert } from "../../../base/domain/assert.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import type { ChatDelta, ChatFinish, ChatHeader, ChatUsage } from "../../../base/domain/chat.ts";
import { tokenEntry } from "../chat/chat-logprobs.ts";
import { JsonList, type TakeBytes } from "../json-text.ts";
import type { OllamaForm } from "./read-request.ts";
import { CollectedCalls } from "./tool-calls.ts";

export interface AnswerContext {
  readonly form: OllamaForm;
  readonly header: ChatHeader;
  readonly clock: Clock;
  /** Monotonic time in milliseconds at which the request had been read. */
  readonly requestedMs: number;
}

/** Content of one line, or of a whole answer. */
interface Content {
  readonly text: string;
  readonly thinking: string;
  readonly calls: readonly object[];
}

const noContent: Content = { text: "", thinking: "", calls: [] };

/** Returns a writer for the lines of a stream. Its `add` takes the deltas of one step. */
export function answerLines(context: AnswerContext) {
  const answer = new Answer(context);
  return {
    add: (deltas: readonly ChatDelta[]): readonly object[] =>
      deltas.flatMap((delta) => {
        const content = answer.read(delta);
        const { logprobs } = delta;
        const hasLogprobs = answer.hasLogprobs && logprobs.length > 0;
        if (isEmpty(content) && !hasLogprobs) return [];
        const shown = hasLogprobs ? { logprobs: logprobs.map((one) => tokenEntry(one, false)) } : {};
        return [{ ...answer.body(content), done: false, ...shown }];
      }),
    end: (usage: ChatUsage): readonly object[] => [{ ...answer.body(noContent), ...answer.end(usage) }],
  };
}

/** Returns a collector for one whole answer. It has the same content as the stream of {@link answerLines}. */
export function wholeAnswer(context: AnswerContext, take: TakeBytes) {
  const answer = new Answer(context);
  const logprobs = new JsonList(take);
  const whole = { text: "", thinking: "", calls: [] as object[] };
  return {
    add: (deltas: readonly ChatDelta[]): void => {
      for (const delta of deltas) {
        const { text, thinking, calls } = answer.read(delta);
        whole.text += text;
        whole.thinking += thinking;
        whole.calls.push(...calls);
        if (answer.hasLogprobs) for (const one of delta.logprobs) logprobs.add(tokenEntry(one, false));
      }
    },
    end: (usage: ChatUsage): object => ({
      ...answer.body(whole),
      ...answer.end(usage),
      ...(answer.hasLogprobs ? { logprobs } : {}),
    }),
  };
}

class Answer {
  readonly #context: AnswerContext;
  readonly #calls = new CollectedCalls();
  /** Time at which the prompt had been computed. It counts as the creation time of the answer. */
  readonly #computedMs: number;
  #finish: ChatFinish | null = null;

  constructor(context: AnswerContext) {
    this.#context = context;
    this.#computedMs = context.clock.monotonicMs();
  }

  get hasLogprobs(): boolean {
    return this.#context.header.logprobs !== "off";
  }

  /** Returns the content that a delta adds. */
  read({ text, reasoning, toolCalls, finish }: ChatDelta): Content {
    const calls = this.#calls.add(toolCalls);
    this.#finish = finish ?? this.#finish;
    const all = finish === null ? calls : [...calls, ...this.#calls.finish()];
    if (this.#context.form.isLoading) return noContent;
    return { text, thinking: reasoning, calls: all };
  }

  body({ text, thinking, calls }: Content): object {
    const { form, header, clock } = this.#context;
    const more = {
      ...(thinking === "" ? {} : { thinking }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    };
    return {
      model: header.model,
      created_at: clock.now().toISOString(),
      ...(form.kind === "chat"
        ? { message: { role: header.role, content: text, ...more } }
        : { response: text, ...more }),
    };
  }

  /** Returns the members that only the end of an answer has. All durations are in nanoseconds. */
  end({ promptTokens, completionTokens }: ChatUsage): object {
    const { form, header, clock, requestedMs } = this.#context;
    const finish = this.#finish;
    assert(finish !== null, "a completion ends with its finish");
    if (form.isLoading) return { done: true, done_reason: "load" };
    const now = clock.monotonicMs();
    return {
      done: true,
      done_reason: finish.reason === "length" ? "length" : "stop",
      total_duration: nanoseconds(now - requestedMs),
      load_duration: nanoseconds(header.stages.loadMs),
      prompt_eval_count: promptTokens,
      prompt_eval_duration: nanoseconds(header.stages.promptMs),
      eval_count: completionTokens,
      eval_duration: nanoseconds(now - this.#computedMs),
    };
  }
}

function isEmpty({ text, thinking, calls }: Content): boolean {
  return text === "" && thinking === "" && calls.length === 0;
}

export function nanoseconds(milliseconds: number): number {
  return Math.round(milliseconds * 1e6);
}
