// From a parsed body to one request for each of its prompts, and how they are answered together.
import type { ChatPrompt, ChatRequest } from "../../../base/domain/chat.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { isObject } from "../../../base/validation/findings.ts";
import { readWithUnserved } from "../body.ts";
import type { WirePlaces } from "../field-paths.ts";
import { readTokenLimit, refuseBeyondLimits, type ChatLimits } from "../chat/chat-limits.ts";
import { readConstraint } from "../chat/chat-constraint.ts";
import {
  placesOf,
  answerFormOf,
  readGeneration,
  servedPart,
  type ChatAnswerForm,
  freshRequestId,
  requestIdPlaces,
} from "../chat/read-chat-request.ts";
import {
  completionFields,
  completionForm,
  defaultMaxTokens,
  type CompletionBody,
} from "./completion-request.ts";

export interface CompletionLimits extends ChatLimits {
  readonly completionPrompts: number;
}

/** How a completion is written. */
export interface CompletionForm extends ChatAnswerForm {
  /** Under which the answer goes; the requests' own ids are told apart. */
  readonly id: string;
  /** The body asks for no tokens: what was drawn nevertheless is not answered. */
  readonly isWithoutTokens: boolean;
  /** Alternatives of each token of a prompt that is put before its answers; null where these are not judged. */
  readonly echoedLogprobCount: number | null;
  /** The same of `prompt_logprobs`. */
  readonly promptLogprobCount: number | null;
}

export interface ReadCompletion {
  /** One for each prompt, at least one. */
  readonly requests: readonly ChatRequest[];
  readonly form: CompletionForm;
  /** Where each request's fields stand in the body. */
  readonly places: readonly WirePlaces[];
  readonly ignored: readonly string[];
}

/**
 * @param exact the body with the digits of its numbers
 * @throws ServiceError `invalid` as a chat's body; what cannot be honoured stands in the requests
 */
export function readCompletion(
  value: unknown,
  limits: CompletionLimits,
  requestId = freshRequestId(),
  exact = value,
): ReadCompletion {
  refuseBeyondLimits(value, limits);
  refuseManyPrompts(value, limits);
  const { value: whole, ignored, unserved } = readWithUnserved(completionForm, value);
  const body = servedPart(whole, unserved);
  // It differs from the body in nothing but the digits of numbers, which no constraint's own members are.
  const constraint = readConstraint(servedPart(exact as CompletionBody, unserved));
  const { output, stopping, ...parts } = readGeneration(body, { requestId, constraint });
  const maxTokens = readTokenLimit(body.max_tokens) ?? defaultMaxTokens;
  const logprobs = body.logprobs === null || body.logprobs === undefined ? null : { topCount: body.logprobs };
  const echoedLogprobCount = body.echo === true && logprobs !== null ? logprobs.topCount : null;
  const { promptLogprobCount } = output;
  const request: Omit<ChatRequest, "prompt"> = {
    ...parts,
    // A text calls nothing.
    calls: { choice: { kind: "none" }, areParallel: true, areExempt: false, texts: [] },
    // No answer is without a token; it is left out where none was asked for.
    stopping: { ...stopping, maxTokens: Math.max(1, maxTokens) },
    output: {
      ...output,
      logprobs,
      promptLogprobCount: mostOf(promptLogprobCount, echoedLogprobCount),
      includeReasoning: true,
    },
    unserved,
  };
  const { identity } = request;
  const prompts = promptsOf(body);
  const places = {
    ...placesOf(completionFields, body),
    ...requestIdPlaces(requestId),
    // Where these are judged because they are put before the answer.
    ...(promptLogprobCount === null && { "output.promptLogprobCount": ["body", "logprobs"] }),
  };
  return {
    // Whatever else uses the answer's id is found by the first, which goes under it.
    requests: prompts.map((prompt, index) => ({
      ...request,
      identity: index === 0 ? identity : { ...identity, requestId: `${identity.requestId}-${index}` },
      prompt,
    })),
    form: {
      ...answerFormOf(body),
      id: identity.requestId,
      isWithoutTokens: maxTokens === 0,
      echoedLogprobCount,
      promptLogprobCount,
    },
    places: prompts.map((_, index) => ({ ...places, ...promptPlaces(prompts.length, index) })),
    ignored,
  };
}

/** @throws ServiceError `invalid` for more prompts than are taken, before anything walks them */
function refuseManyPrompts(body: unknown, { completionPrompts }: CompletionLimits): void {
  const prompt = isObject(body) ? body["prompt"] : null;
  if (!Array.isArray(prompt) || prompt.length <= completionPrompts || typeof prompt[0] === "number") return;
  const message = `There are ${prompt.length} prompts; at most ${completionPrompts} are taken. Send them in several requests.`;
  throw new ServiceError({
    code: "invalid",
    faults: [{ location: ["body", "prompt"], message, type: "too_long" }],
  });
}

function promptsOf(body: CompletionBody): readonly ChatPrompt[] {
  const { prompt } = body;
  const options = { truncation: body.truncate_prompt_tokens ?? null, echo: body.echo ?? false };
  const addSpecialTokens = body.add_special_tokens ?? true;
  const promptOf = (item: string | readonly number[]): ChatPrompt =>
    typeof item === "string"
      ? { kind: "text", text: item, addSpecialTokens, ...options }
      : { kind: "tokens", tokenIds: item, ...options };
  if (typeof prompt === "string") return [promptOf(prompt)];
  // The items were found to be of one kind.
  if (typeof prompt[0] === "number") return [promptOf(prompt as readonly number[])];
  return (prompt as readonly (string | readonly number[])[]).map(promptOf);
}

function promptPlaces(count: number, index: number): WirePlaces {
  const place = count === 1 ? ["body", "prompt"] : ["body", "prompt", String(index)];
  return { "prompt.text": place, "prompt.tokenIds": place };
}

function mostOf(one: number | null, other: number | null): number | null {
  return one === null ? other : Math.max(one, other ?? 0);
}
