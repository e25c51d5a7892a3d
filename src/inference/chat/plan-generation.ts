// Plans a chat request for the model that it names: resolves defaults, checks limits, and builds the request to the
// engine. If the request has no seed, draws a random one. Waits only for the prompt, which other threads write.
import { chatFault, type ChatHeader, type ChatPrompt, type ChatRequest } from "../../base/domain/chat.ts";
import { joinedText } from "../../base/domain/content-part.ts";
import {
  choiceCountMax,
  choiceCountOf,
  type ChoiceRequest,
  type EngineLimits,
  type GenerationRequest,
} from "../../base/domain/generation.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { refuseMissingConstraint } from "./missing-features.ts";
import type { ResolvedModel } from "../models/registry/model-directory.ts";
import { namedTokens } from "./reply/named-tokens.ts";
import { promptName, promptRefusal } from "../chat-templates/prompt-faults.ts";
import { planReply, type ReplyPlan } from "./tools/reply-plan.ts";
import { resolveSampling, resolveStopping, refuseUnknownTokens } from "./resolve-sampling.ts";
import { uncalledToolsNotice } from "./tools/tool-use.ts";
import { servedLimits } from "./served-base.ts";
import type { ServedBase } from "./served-base.ts";

export interface GenerationPlan {
  readonly generation: GenerationRequest;
  /** Fields of the header that are known before anything is computed. */
  readonly header: Omit<
    ChatHeader,
    "createdAt" | "promptLogprobs" | "choiceCount" | "heldAt" | "notice" | "stages"
  >;
  /** Notices for the client, one sentence each. */
  readonly notices: readonly string[];
  /** The model's end token, which is not reported as a stop reason; null if that token does not end the answer. */
  readonly endOfTextId: number | null;
  readonly reply: ReplyPlan;
}

/**
 * Builds the plan of a request.
 *
 * @param request request that needs no feature which the engine lacks
 * @throws ServiceError with one of these codes:
 * - `unavailable` while the engine is not ready
 * - `unsupported` for a prompt that cannot be rendered or does not fit and for token ids that the model lacks
 * - `invalid` for more log-probabilities than an answer may have
 * - `overloaded` when too many prompts wait, `cancelled` when the signal aborts
 */
export async function planGeneration(
  request: ChatRequest,
  model: ResolvedModel,
  base: ServedBase,
  options: {
    readonly client: string;
    readonly entity: string;
    readonly signal: AbortSignal;
    /** True to compute log-probabilities for the recording, even if the client requests none. */
    readonly isRecorded: boolean;
    readonly isInternal: boolean;
  },
): Promise<GenerationPlan> {
  const { identity, output } = request;
  const limits = limitsOf(output.choices, base);
  const prompt = await base.prompts.write(
    {
      prompt: request.prompt,
      fit: { purpose: "answer", contextLength: limits.contextLength, keepLast: keptTokens(request, limits) },
      wantsTexts: false,
      badWords: request.sampling.badWords ?? [],
      modelName: base.model.name,
      vocabularySize: limits.vocabularySize,
    },
    { client: options.entity, signal: options.signal },
  );
  const promptTokenIds = prompt.tokenIds;
  const room = roomLeft(request.prompt, promptTokenIds.length, limits);
  const { stopping, endOfTextId } = resolveStopping(request, base, room);
  const resolved = { badWordIds: prompt.badWordIds, vocabularySize: limits.vocabularySize };
  refuseUnknownTokens(request, resolved);
  const reply = planReply(request, base, promptTokenIds);
  refuseMissingConstraint(request, reply.constraint, base.engine.capabilities);
  const logprobs = logprobMode(request, model);
  const topLogprobCount = logprobs === "off" ? null : (output.logprobs?.topCount ?? 0);
  refuseWideLogprobs(request, limits);
  refuseManyLogprobs(request, { topLogprobCount, maxTokens: stopping.maxTokens, promptTokenIds });
  const generation: GenerationRequest = {
    id: identity.requestId,
    prompt: { tokenIds: promptTokenIds, adapter: model.adapter },
    sampling: resolveSampling(request, base, resolved),
    constraint: reply.constraint,
    stopping,
    outputs: {
      topLogprobCount: topLogprobCount ?? (options.isRecorded ? 0 : null),
      promptLogprobCount: output.promptLogprobCount,
    },
    choices: output.choices,
    priority: identity.priority,
    cacheOwner: options.entity,
    cacheSalt: identity.cacheSalt,
    ...(options.isInternal && { isInternal: true }),
  };
  const header = {
    model: model.name,
    fingerprint: model.fingerprint,
    role: roleOf(request.prompt),
    echo: request.prompt.echo ? echoOf(request, base) : "",
    promptTokenIds,
    echoedTokens:
      request.prompt.echo && output.promptLogprobCount !== null
        ? namedTokens(promptTokenIds, base.tokenizer, output)
        : null,
    logprobs,
    tokenIds: {
      top: output.returnTokenIds === true,
      inChoices: model.isTrained && output.logprobs !== null && output.returnTokenIds !== false,
    },
  };
  return { generation, header, notices: noticesOf(request, base), endOfTextId, reply };
}

function noticesOf(request: ChatRequest, base: ServedBase): readonly string[] {
  const isSeeded = request.sampling.seed !== null && !base.engine.capabilities.isExact;
  return [
    uncalledToolsNotice(request, base) ?? [],
    isSeeded
      ? "seed: the engine of this model is not exact, and may answer the same request differently"
      : [],
  ].flat();
}

/**
 * Refuses more alternatives per token than the engine supports, and more log-probabilities than one answer may have.
 */
function refuseWideLogprobs(
  { output }: ChatRequest,
  { logprobCountMax, vocabularySize }: EngineLimits,
): void {
  const countMax = logprobCountMax ?? vocabularySize;
  const asked = [
    ["output.logprobs", output.logprobs?.topCount ?? 0],
    ["output.promptLogprobCount", output.promptLogprobCount ?? 0],
  ] as const;
  const faults = asked
    .filter(([, count]) => count > countMax)
    .map(([field, count]) => {
      const message = `\`${field}\` asks for ${count} log-probabilities of each token; the engine of this model gives at most ${countMax}.`;
      return chatFault(field, { message, type: "less_than_equal" });
    });
  if (faults.length > 0) throw new ServiceError({ code: "unsupported", faults });
}

/**
 * Maximum number of log-probabilities in an answer, each of which takes about 60 bytes. This is enough for 128 choices
 * with 32,768 tokens each, without alternatives.
 */
const logprobsMax = choiceCountMax * 32_768;

function refuseManyLogprobs(
  { output }: ChatRequest,
  {
    topLogprobCount,
    maxTokens,
    promptTokenIds,
  }: {
    readonly topLogprobCount: number | null;
    readonly maxTokens: number;
    readonly promptTokenIds: readonly number[];
  },
): void {
  const choiceCount = choiceCountOf(output);
  const perToken = topLogprobCount === null ? 0 : 1 + topLogprobCount;
  const ofPrompt = output.promptLogprobCount === null ? 0 : 1 + output.promptLogprobCount;
  const count = choiceCount * maxTokens * perToken + promptTokenIds.length * ofPrompt;
  if (count <= logprobsMax) return;
  const message =
    `\`output.choices\` and \`stopping.maxTokens\` allow ${choiceCount} answers of ${maxTokens} tokens with ${perToken} log-probabilities each, ` +
    `and the prompt has ${promptTokenIds.length} tokens with ${ofPrompt}: ${count} together; an answer has at most ${logprobsMax}. ` +
    "Ask for fewer answers, tokens or alternatives.";
  const field = perToken === 0 ? "output.promptLogprobCount" : "output.logprobs";
  throw new ServiceError({ code: "invalid", faults: [chatFault(field, { message, type: "too_long" })] });
}

/** Returns how many tokens at the prompt's end truncation keeps; null if the prompt is not truncated. */
function keptTokens(
  { prompt: { truncation }, stopping: { maxTokens } }: ChatRequest,
  { contextLength, positionCountMax }: RequestLimits,
): number | null {
  if (truncation === null || (truncation >= 1 && truncation <= contextLength)) return truncation;
  const positionCount = Math.min(contextLength, positionCountMax);
  const room = positionCount - (maxTokens === null || maxTokens === Infinity ? 1 : maxTokens);
  if (truncation === -1 && room >= 1) return room;
  const message =
    truncation === -1
      ? `\`prompt.truncation\` is -1, and \`stopping.maxTokens\` ${maxTokens} leaves no room for a prompt within this model's ${positionCount} tokens; send a smaller one.`
      : `\`prompt.truncation\` is ${truncation}, more than this model's maximum context length of ${contextLength} tokens; send at most that, or -1.`;
  const faults = [chatFault("prompt.truncation", { message, type: "value_error" })];
  throw new ServiceError({ code: "unsupported", faults });
}

/**
 * Returns the role of the answer. Without a generation prompt, the answer continues the last message, so it has the
 * same role.
 */
function roleOf(prompt: ChatPrompt): string {
  const opensTurn = prompt.kind !== "conversation" || prompt.addGenerationPrompt;
  return opensTurn ? "assistant" : (prompt.messages.at(-1)?.role ?? "assistant");
}

/** Returns the text that the answer continues: a text prompt, or the last message if the answer continues it. */
function echoOf({ prompt, output }: ChatRequest, { tokenizer }: ServedBase): string {
  if (prompt.kind === "text") return prompt.text;
  if (prompt.kind === "tokens") return tokenizer.decode(prompt.tokenIds, output);
  const last = prompt.messages.at(-1);
  return last?.role === roleOf(prompt) ? (joinedText(last.content ?? null) ?? "") : "";
}

/**
 * Returns the form of log-probabilities in the answer. A trained model returns them by default, with tokens identified
 * by id, because rollouts need them.
 */
function logprobMode({ output }: ChatRequest, model: ResolvedModel): ChatHeader["logprobs"] {
  if (output.logprobs === undefined) return model.isTrained ? "token-id" : "off";
  return output.logprobs === null ? "off" : "text";
}

/** Limits that a request must respect. */
interface RequestLimits extends EngineLimits {
  /** Maximum number of tokens in prompt and answer together for which the engine has memory. */
  readonly positionCountMax: number;
}

function limitsOf(choices: ChoiceRequest, base: ServedBase): RequestLimits {
  const limits = servedLimits(base);
  const positionCountMax = base.engine.roomFor(choices);
  if (positionCountMax > 0 || choices.kind === "sample") return { ...limits, positionCountMax };
  let width = choices.width;
  while (width > 0 && base.engine.roomFor({ ...choices, width }) === 0) width -= 1;
  const message =
    `\`output.choices\` asks for ${choices.width} beams; this server has room for at most ` +
    `${width} at a time. Ask for fewer.`;
  const faults = [chatFault("output.choices", { message, type: "value_error" })];
  throw new ServiceError({ code: "unsupported", faults });
}

/**
 * Returns how many tokens may follow the prompt, given the context length and the engine's memory.
 *
 * @returns at least 1
 * @throws ServiceError if there is no memory for an answer after the prompt
 */
function roomLeft(
  { kind }: ChatPrompt,
  promptLength: number,
  { contextLength, positionCountMax }: RequestLimits,
): number {
  const room = Math.min(contextLength, positionCountMax) - promptLength;
  if (room >= 1) return room;
  const message =
    `This server has memory for ${positionCountMax} tokens of prompt and answer, and your request has ${promptLength} input tokens. ` +
    `Please reduce the length of the ${promptName(kind)}.`;
  throw promptRefusal(kind, message);
}
