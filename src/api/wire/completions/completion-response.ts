// Writes the complete answer to a text completion: the choices of all prompts in order, with every declared field.
import { assert } from "../../../base/domain/assert.ts";
import type { ChatHeader, ChatUsage, RequestDeltas } from "../../../base/domain/chat.ts";
import { choiceCountOf } from "../../../base/domain/generation.ts";
import {
  addDelta,
  finishBody,
  newChoices,
  spellsIds,
  usageBody,
  type GatheredChoice,
} from "../chat/chat-response.ts";
import { promptLogprobsBody } from "../chat/chat-logprobs.ts";
import { passingParams } from "../transfer/passing-params.ts";
import type { TakeBytes } from "../json-text.ts";
import { echoedLogprobs, GatheredLogprobs } from "./completion-logprobs.ts";
import type { CompletionForm, ReadCompletion } from "./read-completion.ts";
import { deltaAsAnswered, usageAsAnswered } from "./without-tokens.ts";

interface GatheredPrompt {
  readonly header: ChatHeader;
  readonly choices: readonly GatheredChoice[];
  /** Log-probabilities of each choice. */
  readonly logprobs: readonly GatheredLogprobs[];
}

/** Returns the fields that a complete answer and every chunk of a stream have. */
export function completionHeader({ id }: CompletionForm, header: ChatHeader): object {
  return {
    id: `cmpl-${id}`,
    request_id: id,
    object: "text_completion",
    created: Math.floor(header.createdAt.getTime() / 1000),
    model: header.model,
    service_tier: "default",
    system_fingerprint: header.fingerprint,
  };
}

/**
 * Returns a collector for one complete answer. For each step, its `add` takes the step's deltas.
 *
 * @param take called with the number of bytes that the answer adds in memory; if it throws, `add` throws the same error
 */
export function completionAnswer({ requests, form }: ReadCompletion, take: TakeBytes) {
  const choiceCount = choiceCountOf(requests[0].output);
  const prompts: GatheredPrompt[] = [];
  const newPrompt = (header: ChatHeader): GatheredPrompt => {
    const asIds = spellsIds(header, form);
    const echoed = echoedLogprobs(header, form, asIds);
    const choices = newChoices(choiceCount, header);
    return { header, choices, logprobs: choices.map(() => new GatheredLogprobs(echoed, asIds, take)) };
  };
  return {
    add: ({ request, header, deltas }: RequestDeltas): void => {
      const prompt = (prompts[request] ??= newPrompt(header));
      for (const drawn of deltas) {
        const delta = deltaAsAnswered(drawn, form);
        addDelta(prompt.choices, delta);
        if (header.logprobs !== "off") prompt.logprobs[delta.choice].add(delta.logprobs);
      }
    },
    end: (usage: ChatUsage): object => {
      assert(prompts.length === requests.length, "every request was answered");
      return {
        ...completionHeader(form, prompts[0].header),
        choices: prompts.flatMap(({ header, choices, logprobs }, prompt) => {
          // All choices of the prompt refer to this object, and its log-probabilities are serialized only when they are
          // written. This saves memory.
          const ofPrompt = { prompt_logprobs: promptLogprobs(header, form) };
          return choices.map((choice, index) => ({
            index: prompt * choiceCount + index,
            ...choiceBody(choice, header, header.logprobs === "off" ? null : logprobs[index]),
            ...ofPrompt,
          }));
        }),
        usage: usageBody(usageAsAnswered(usage, form)),
        kv_transfer_params: passingParams(prompts[0].header.heldAt),
      };
    },
  };
}

function choiceBody(
  { text, finish, tokenIds }: GatheredChoice,
  header: ChatHeader,
  logprobs: GatheredLogprobs | null,
): object {
  assert(finish !== null, "every choice finishes");
  return {
    text,
    logprobs: logprobs?.body ?? null,
    ...finishBody(finish),
    ...idsBody(header, tokenIds),
  };
}

/**
 * Returns the prompt's log-probabilities with the number of alternatives that `prompt_logprobs` asks for. The header
 * may have more alternatives, because an echo also asks for some.
 */
function promptLogprobs(
  { promptLogprobs: all }: ChatHeader,
  { promptLogprobCount }: CompletionForm,
): object | null {
  if (all === null || promptLogprobCount === null) return null;
  return promptLogprobsBody(
    all.map((token) => token && { ...token, alternatives: token.alternatives.slice(0, promptLogprobCount) }),
  );
}

/**
 * Returns the token ids of the answer and of the prompt. They are null unless the request asks for them, or asks for
 * log-probabilities of a trained model.
 */
function idsBody(
  { tokenIds: { top, inChoices }, promptTokenIds }: ChatHeader,
  tokenIds: readonly number[],
): object {
  const isShown = top || inChoices;
  return { token_ids: isShown ? tokenIds : null, prompt_token_ids: isShown ? promptTokenIds : null };
}
