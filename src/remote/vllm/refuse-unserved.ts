// What a request asks of vLLM whose features are offered one by one, and which is refused all the same: values beyond vLLM's
// own limits, and what it answers wrongly when it is asked for together.
import type { GenerationRequest } from "../../domain/generation.ts";
import { ServiceError } from "../../domain/service-error.ts";

/** The greatest temperature that vLLM takes. */
const temperatureMax = 2;

/** @throws ServiceError `unsupported`, naming what is too much and how much there may be */
export function refuseUnserved(request: GenerationRequest): void {
  const fault = faultOf(request);
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
