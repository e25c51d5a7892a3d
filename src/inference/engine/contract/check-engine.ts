// Contract tests that every Engine must pass. They test each capability that the engine declares, and that the engine
// refuses all others by name.
import { searchedOf } from "../../../base/domain/testing/search.ts";
import { capabilitiesOf, type EngineUnderTest } from "./engine-under-test.ts";
import { checkAdapters } from "./adapters.ts";
import { checkBeams } from "./beams.ts";
import { checkEmbeddings } from "./embeddings.ts";
import { checkConstrainedOutput } from "./constrained-output.ts";
import { checkEnding } from "./ending.ts";
import { checkEvents, checkRecordedAnswers } from "./events.ts";
import { checkPriorities } from "./priorities.ts";
import { checkProcessors } from "./processors.ts";
import { checkPromptLogprobs } from "./prompt-logprobs.ts";
import { checkRefusals } from "./refusals.ts";
import { checkRestrictions } from "./restrictions.ts";
import { checkSampling } from "./sampling.ts";

/** Parts of the suite. A part with a feature runs only for engines that have this feature. */
const parts = [
  { check: checkEvents },
  { check: checkRecordedAnswers },
  { check: checkSampling },
  { check: checkAdapters },
  { check: checkRestrictions },
  { check: checkConstrainedOutput },
  { check: checkPromptLogprobs, feature: "prompt-logprobs" },
  { check: checkProcessors, feature: "logits-processors" },
  { check: checkBeams, feature: "beam" },
  { check: checkEmbeddings, feature: "embeddings" },
  { check: checkEnding },
  { check: checkPriorities, feature: "priority" },
  { check: checkRefusals },
] as const;

/** Registers the contract tests of an engine. `sample` limits how many parts `npm test` runs. */
export function checkEngine(under: EngineUnderTest, sample: number = parts.length): void {
  const { features } = capabilitiesOf(under);
  for (const part of searchedOf(parts, sample, under.name))
    if (!("feature" in part) || features.has(part.feature)) part.check(under);
}
