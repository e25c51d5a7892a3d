// The contract of every Engine as a suite: each is asked for what it says that it can do, and refuses the rest by name.
import { capabilitiesOf, type EngineUnderTest } from "./engine-under-test.ts";
import { checkAdapters } from "./adapters.ts";
import { checkBeams } from "./beams.ts";
import { checkConstrainedOutput } from "./constrained-output.ts";
import { checkEnding } from "./ending.ts";
import { checkEvents } from "./events.ts";
import { checkPriorities } from "./priorities.ts";
import { checkProcessors } from "./processors.ts";
import { checkPromptLogprobs } from "./prompt-logprobs.ts";
import { checkRefusals } from "./refusals.ts";
import { checkRestrictions } from "./restrictions.ts";
import { checkSampling } from "./sampling.ts";

/** Registers the tests that an engine must pass. */
export function checkEngine(under: EngineUnderTest): void {
  const { features } = capabilitiesOf(under);
  checkEvents(under);
  checkSampling(under);
  checkAdapters(under);
  checkRestrictions(under);
  checkConstrainedOutput(under);
  if (features.has("prompt-logprobs")) checkPromptLogprobs(under);
  if (features.has("logits-processors")) checkProcessors(under);
  if (features.has("beam")) checkBeams(under);
  checkEnding(under);
  if (features.has("priority")) checkPriorities(under);
  checkRefusals(under);
}
