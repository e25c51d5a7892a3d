// Writes the chunks of a streamed text completion. Each choice has its echo, its text, and a last chunk without text;
// the usage follows if requested. Choices of several prompts are interleaved in the order in which they are sampled.
import type { ChatDelta, ChatHeader, ChatUsage, RequestDeltas } from "../../../base/domain/chat.ts";
import { choiceCountOf } from "../../../base/domain/generation.ts";
import { finishBody, spellsIds, usageBody } from "../chat/chat-response.ts";
import { isLong } from "../json-text.ts";
import {
  completionLogprobs,
  echoedLogprobs,
  endOf,
  type CompletionLogprobs,
  type EchoedLogprobs,
} from "./completion-logprobs.ts";
import { completionHeader } from "./completion-response.ts";
import type { CompletionForm, ReadCompletion } from "./read-completion.ts";
import { deltaAsAnswered, usageAsAnswered } from "./without-tokens.ts";

/**
 * Returns a writer of the chunks of one stream. For each step, its `add` takes the step's deltas.
 *
 * @param header header of the prompt that started first
 */
export function completionChunks({ requests, form }: ReadCompletion, header: ChatHeader) {
  const choiceCount = choiceCountOf(requests[0].output);
  const prompts: StreamedPrompt[] = [];
  // Choices whose first chunk has been written, by their index in the answer.
  const choices = new Map<number, ChoiceStream>();
  const common = completionHeader(form, header);
  const chunksOf = (index: number, prompt: StreamedPrompt, delta: ChatDelta): readonly object[] => {
    const known = choices.get(index);
    const choice = known ?? new ChoiceStream(prompt, form);
    if (known === undefined) choices.set(index, choice);
    const rest = form.usageInEveryChunk ? { usage: usageBody(delta.usage, delta.choiceTokens) } : {};
    // A chunk with an echo is long, because it has a log-probability for each token of the prompt.
    const mark = known === undefined && prompt.header.echo !== "" ? { [isLong]: true } : {};
    return choice.next(delta).map((body, place) => ({
      ...common,
      choices: [{ index, ...body }],
      ...rest,
      ...(place === 0 ? mark : {}),
    }));
  };
  return {
    add: ({ request, header: own, deltas }: RequestDeltas): readonly object[] => {
      const prompt = (prompts[request] ??= streamedPrompt(own, form));
      return deltas.flatMap((delta) =>
        chunksOf(request * choiceCount + delta.choice, prompt, deltaAsAnswered(delta, form)),
      );
    },
    end: (usage: ChatUsage): readonly object[] =>
      form.includesUsage ? [{ ...common, choices: [], usage: usageBody(usageAsAnswered(usage, form)) }] : [],
  };
}

/** Data of one prompt, which all choices that answer the prompt use. */
interface StreamedPrompt {
  readonly header: ChatHeader;
  readonly echoed: EchoedLogprobs;
}

function streamedPrompt(header: ChatHeader, form: CompletionForm): StreamedPrompt {
  return { header, echoed: echoedLogprobs(header, form, spellsIds(header, form)) };
}

/** One choice while it is streamed. */
class ChoiceStream {
  readonly #header: ChatHeader;
  readonly #echoed: EchoedLogprobs;
  readonly #asIds: boolean;
  #isBegun = false;
  /** Offset in characters at which the next token's text begins in the choice's text, which includes the echo. */
  #characters: number;

  constructor({ header, echoed }: StreamedPrompt, form: CompletionForm) {
    this.#header = header;
    this.#echoed = echoed;
    this.#asIds = spellsIds(header, form);
    this.#characters = echoed.end;
  }

  /**
   * Returns the next chunks of this choice: none for a delta without content, and two if text and finish reason arrive
   * together.
   */
  next(delta: ChatDelta): readonly object[] {
    const text = this.#textOf(delta);
    if (text === "" && delta.tokenIds.length === 0 && delta.finish === null) return [];
    if (text === "" || delta.finish === null) return [this.#body(delta)];
    const body = this.#body({ ...delta, finish: null });
    return [body, this.#body({ ...delta, text: "", tokenIds: [], logprobs: [] })];
  }

  #textOf(delta: ChatDelta): string {
    return this.#isBegun ? delta.text : this.#header.echo + delta.text;
  }

  #body(delta: ChatDelta): object {
    const { promptTokenIds, tokenIds: ids } = this.#header;
    const text = this.#textOf(delta);
    const hasIds = ids.top || ids.inChoices;
    const prompt = hasIds && !this.#isBegun ? { prompt_token_ids: promptTokenIds } : {};
    const logprobs = this.#logprobs(delta);
    this.#isBegun = true;
    return {
      text,
      logprobs,
      ...(delta.finish === null ? { finish_reason: null } : finishBody(delta.finish)),
      token_ids: hasIds ? delta.tokenIds : null,
      ...prompt,
    };
  }

  #logprobs({ logprobs: tokens }: ChatDelta): object | null {
    if (this.#header.logprobs === "off") return null;
    const own = completionLogprobs(tokens, this.#characters, this.#asIds);
    this.#characters = endOf(tokens, this.#characters);
    const body = this.#isBegun ? own : behind(this.#echoed, own);
    return body.tokens.length === 0 ? null : body;
  }
}

function behind(echoed: EchoedLogprobs, own: CompletionLogprobs): EchoedLogprobs["lists"] {
  const { lists } = echoed;
  return {
    tokens: [...lists.tokens, ...own.tokens],
    token_logprobs: [...lists.token_logprobs, ...own.token_logprobs],
    top_logprobs: [...lists.top_logprobs, ...own.top_logprobs],
    text_offset: [...lists.text_offset, ...own.text_offset],
  };
}
