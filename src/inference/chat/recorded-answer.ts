// Builds the data that the recorder stores about a chat, from the request and from the plan of its answer.
import type { Caller } from "../../base/domain/access.ts";
import { present } from "../../base/domain/assert.ts";
import type { ChatRequest } from "../../base/domain/chat.ts";
import type { GenerationRequest } from "../../base/domain/generation.ts";
import type {
  AnsweredRequest,
  ChatRecorder,
  ChatRecording,
} from "../../base/domain/recordings/chat-recorder.ts";
import type { RecordedSampling } from "../../base/domain/recordings/recorded-completion.ts";
import type { ResolvedModel } from "../models/registry/model-directory.ts";
import type { GenerationPlan } from "./plan-generation.ts";

/**
 * True if the answer is to be recorded. Answers of base models belong to no project and are never recorded. All calls
 * of a rollout are recorded, because the rollout's creator asked for it.
 */
export function isRecorded(
  recorder: ChatRecorder | null,
  request: ChatRequest,
  { isTrained }: ResolvedModel,
  { rollout = null }: Pick<Caller, "rollout">,
): boolean {
  return isTrained && recorder !== null && (rollout !== null || recorder.records(request));
}

/** Begins to record an answer of a trained model. */
export function beginRecording(
  recorder: ChatRecorder,
  { generation }: GenerationPlan,
  model: ResolvedModel,
  answered: Pick<AnsweredRequest, "request" | "caller" | "choiceCount" | "startedAt" | "attempt">,
): ChatRecording {
  const version = {
    projectId: present(model.projectId, "the project of a trained model"),
    modelId: present(model.modelId, "the id of a trained model"),
    step: present(model.step, "the version of a trained model"),
    model: model.name,
    fingerprint: model.fingerprint,
  };
  return recorder.begin({
    ...answered,
    version,
    promptTokenIds: generation.prompt.tokenIds,
    sampling: samplingOf(generation, answered.request),
  });
}

function samplingOf(
  { sampling, stopping, constraint, choices }: GenerationRequest,
  { stopping: asked }: ChatRequest,
): RecordedSampling {
  const {
    temperature,
    topP,
    topK,
    minP,
    topNSigma,
    repetitionPenalty,
    frequencyPenalty,
    presencePenalty,
    seed,
  } = sampling;
  const { logitBias, allowedTokenIds, badWords, processors } = sampling;
  const holds = [logitBias, badWords, processors].some(({ length }) => length > 0);
  return {
    temperature,
    topP,
    topK,
    minP,
    topNSigma,
    repetitionPenalty,
    frequencyPenalty,
    presencePenalty,
    seed,
    maxTokens: stopping.maxTokens,
    minTokens: stopping.minTokens,
    stop: asked.stop,
    isSearched: choices.kind === "beam",
    isHeld: holds || allowedTokenIds !== null || constraint !== null,
  };
}
