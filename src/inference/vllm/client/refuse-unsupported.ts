// Refuses requests that vLLM accepts but would answer incorrectly, although each feature that they use is supported.
// These are values beyond vLLM's limits, and unsupported combinations.
import type { EngineLimits, GenerationRequest } from "../../../base/domain/generation.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { masksLogprobs, scoredTokensMax } from "./scored-answer.ts";

/** Maximum temperature that vLLM accepts. */
const temperatureMax = 2;

/**
 * Refuses a request that vLLM would answer incorrectly.
 *
 * @throws ServiceError `unsupported`, naming the value and the limit
 */
export function refuseUnsupported(request: GenerationRequest, limits: EngineLimits): void {
  const fault = faultOf(request) ?? scoringFault(request, limits);
  if (fault !== null) throw new ServiceError({ code: "unsupported", message: fault });
}

/** True if a request combines features that vLLM supports only separately, so that Hone refuses it. */
export function isUnsupportedCombination(request: GenerationRequest): boolean {
  return faultOf(request) !== null;
}

/** Returns the reason why a request is refused; null if vLLM can serve it. */
function faultOf({ sampling, constraint, stopping }: GenerationRequest): string | null {
  if (sampling.temperature > temperatureMax)
    return `The temperature is ${sampling.temperature}; the engine of this model takes at most ${temperatureMax}.`;
  if (constraint === null) return null;
  // Until the minimum length is reached, vLLM forbids the end token. If the constraint allows only the end token before
  // that, no token is left, and vLLM samples an arbitrary one.
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
