// The contract of every Engine as a suite.
import type { EngineUnderTest } from "./engine-under-test.ts";
import { checkBeams } from "./beams.ts";
import { checkConstraints } from "./constraints.ts";
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
  checkEvents(under);
  checkSampling(under);
  checkRestrictions(under);
  checkConstraints(under);
  checkPromptLogprobs(under);
  checkProcessors(under);
  checkBeams(under);
  checkEnding(under);
  checkPriorities(under);
  checkRefusals(under);
}
