// What a request asks of vLLM whose features are offered one by one, and which is refused all the same: values beyond vLLM's
// own limits, and what it answers wrongly when it is asked for together.
import type { EngineLimits, GenerationRequest } from "../../../base/domain/generation.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { masksLogprobs, scoredTokensMax } from "./scored-answer.ts";

/** The greatest temperature that vLLM takes. */
const temperatureMax = 2;

/**
 * Refuses what is not served.
 *
 * @throws ServiceError `unsupported`, naming what is too much and how much there may be
 */
export function refuseUnserved(request: GenerationRequest, limits: EngineLimits): void {
  const fault = faultOf(request) ?? scoringFault(request, limits);
  if (fault !== null) throw new ServiceError({ code: "unsupported", message: fault });
}

/** Whether a request is refused though its features are offered. */
export function refusedTogether(request: GenerationRequest): boolean {
  return faultOf(request) !== null;
}

/** Why it is refused; null where it is served. */
function faultOf({ sampling, constraint, stopping }: GenerationRequest): string | null {
  if (sampling.temperature > temperatureMax)
    return `The temperature is ${sampling.temperature}; the engine of this model takes at most ${temperatureMax}.`;
  if (constraint === null) return null;
  // It forbids the end of an answer that has no other way to go on, and draws anything then.
  if (stopping.minTokens > 0)
    return "The engine of this model does not offer min-tokens together with a constraint; send one without the other.";
  if (constraint.kind === "grammar" && constraint.isInJson === true)
    return "The engine of this model does not offer grammars within JSON strings; describe the texts by a pattern.";
  return null;
}

function scoringFault(request: GenerationRequest, { contextLength }: EngineLimits): string | null {
  const { tokenIds } = request.prompt;
  if (!masksLogprobs(request) || scoredTokensMax(tokenIds.length, contextLength) >= 1) return null;
  return (
    `The prompt has ${tokenIds.length} of the model's ${contextLength} tokens, which leaves no answer whose log-probabilities ` +
    "could be computed under a constraint; send a shorter prompt."
  );
}
