// Converts a parsed body to one request per prompt, and to the form of the answer to all of them.
import type { ChatPrompt, ChatRequest } from "../../../base/domain/chat.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { isObject } from "../../../base/validation/findings.ts";
import { readWithUnserved } from "../body.ts";
import type { FieldPaths } from "../field-paths.ts";
import { readTokenLimit, refuseBeyondLimits, type ChatLimits } from "../chat/chat-limits.ts";
import { readConstraint } from "../chat/chat-constraint.ts";
import {
  fieldPathsOf,
  answerFormOf,
  readGeneration,
  withoutFaultyFields,
  type ChatAnswerForm,
  freshRequestId,
  requestIdPaths,
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

/** Form of the answer that a text completion asks for: how it is sent and written. */
export interface CompletionForm extends ChatAnswerForm {
  /** Id of the answer. The body becomes one request per prompt; only the first request has this id. */
  readonly id: string;
  /** True if the body asks for zero tokens. The engine still samples one token, which the answer leaves out. */
  readonly isWithoutTokens: boolean;
  /** Number of alternatives per token of an echoed prompt; null if the echo has no log-probabilities. */
  readonly echoedLogprobCount: number | null;
  /** Number of alternatives that `prompt_logprobs` asks for; null if the field is absent. */
  readonly promptLogprobCount: number | null;
}

export interface ReadCompletion {
  /** One request for each prompt; at least one. */
  readonly requests: readonly ChatRequest[];
  readonly form: CompletionForm;
  /** For each request, the location in the body of each of its fields. */
  readonly fieldPaths: readonly FieldPaths[];
  readonly ignored: readonly string[];
}

/**
 * Checks a body and converts it to requests.
 *
 * @param exact the same body, with numbers as the client wrote them
 * @throws ServiceError `invalid` like a chat's body; unsupported options are not thrown but stored in the requests
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
  const body = withoutFaultyFields(whole, unserved);
  // Safe cast: `exact` has the content of the checked body, except that its numbers are as the client wrote them. No
  // constraint field is a number.
  const constraint = readConstraint(withoutFaultyFields(exact as CompletionBody, unserved));
  const { output, stopping, ...parts } = readGeneration(body, { requestId, constraint });
  const maxTokens = readTokenLimit(body.max_tokens) ?? defaultMaxTokens;
  const logprobs = body.logprobs === null || body.logprobs === undefined ? null : { topCount: body.logprobs };
  const echoedLogprobCount = body.echo === true && logprobs !== null ? logprobs.topCount : null;
  const { promptLogprobCount } = output;
  const request: Omit<ChatRequest, "prompt"> = {
    ...parts,
    // A text completion has no tools, so it calls none.
    calls: { choice: { kind: "none" }, areParallel: true, areExempt: false, texts: [] },
    // Engines generate at least one token. If the body asks for none, the answer leaves that token out.
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
  const fieldPaths = {
    ...fieldPathsOf(completionFields, body),
    ...requestIdPaths(requestId),
    // Without `prompt_logprobs`, only `logprobs` together with an echo asks for the prompt's log-probabilities.
    ...(promptLogprobCount === null && { "output.promptLogprobCount": ["body", "logprobs"] }),
  };
  return {
    // The first request has the id of the answer, so that a lookup of this id finds a recorded request.
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
    fieldPaths: prompts.map((_, index) => ({ ...fieldPaths, ...promptPaths(prompts.length, index) })),
    ignored,
  };
}

/**
 * Refuses a body with too many prompts, before other code iterates over them.
 *
 * @throws ServiceError `invalid` for too many prompts
 */
function refuseManyPrompts(body: unknown, { completionPrompts }: CompletionLimits): void {
  const prompt = isObject(body) ? body["prompt"] : null;
  if (!Array.isArray(prompt) || prompt.length <= completionPrompts || typeof prompt[0] === "number") return;
  const message = `There are ${prompt.length} prompts; at most ${completionPrompts} are allowed. Send them in several requests.`;
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
  // Safe cast: `checkCombinations` has checked that all items are of one kind.
  if (typeof prompt[0] === "number") return [promptOf(prompt as readonly number[])];
  return (prompt as readonly (string | readonly number[])[]).map(promptOf);
}

function promptPaths(count: number, index: number): FieldPaths {
  const place = count === 1 ? ["body", "prompt"] : ["body", "prompt", String(index)];
  return { "prompt.text": place, "prompt.tokenIds": place };
}

function mostOf(one: number | null, other: number | null): number | null {
  return one === null ? other : Math.max(one, other ?? 0);
}
