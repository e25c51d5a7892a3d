// Tokens, time and cost of a job before it starts, and a warning about settings with which it would learn nothing.
import { costText } from "../../client/cost-text.ts";
import type { Hone } from "../../client/hone.ts";
import { counted, durationText } from "../components/numbers.ts";
import { Facts } from "../components/shown.tsx";
import { useLoaded } from "../use-loaded.ts";
import { type Chosen, smallStepsWarning } from "./settings.ts";

export interface JobSize {
  /** Number of tokens that the job trains on in one pass. */
  readonly trainedTokens: number;
  /** True if the number is not exact, for example because it was extrapolated from a sample of the data. */
  readonly isEstimate?: boolean;
  /** Number of examples that are divided into batches; null if other settings decide the number of steps. */
  readonly exampleCount: number | null;
  /** Seconds of one pass at the speed of an earlier job; null if the model has not been trained. */
  readonly seconds: number | null;
}

export function JobEstimate({
  hone,
  modelId,
  size: { trainedTokens, isEstimate = false, exampleCount, seconds },
  chosen,
}: {
  readonly hone: Hone;
  readonly modelId: string;
  readonly size: JobSize;
  readonly chosen: Chosen;
}) {
  const { passes } = chosen;
  const warning = exampleCount === null ? null : smallStepsWarning(chosen, exampleCount);
  const model = useLoaded((signal) => hone.served.get(modelId, { signal }), [hone, modelId]);
  const { training: price = null, currency = null } = model.value?.prices ?? {};
  const cost = price === null ? null : costText({ cost: (trainedTokens * passes * price) / 1e6, currency });
  return (
    <>
      <Facts
        of={[
          [
            "trained tokens",
            `${isEstimate ? "about " : ""}${trainedTokens.toLocaleString("en")} × ${counted(passes, "pass", "passes")}`,
          ],
          ["estimated time", seconds === null ? "unknown before the first job" : timeText(seconds * passes)],
          ...(cost === null ? [] : ([["estimated cost", `about ${cost}`]] as const)),
        ]}
      />
      {warning !== null && (
        <p class="warning" role="status">
          {warning}
        </p>
      )}
    </>
  );
}

function timeText(seconds: number): string {
  return seconds < 1 ? "under 1 s" : `about ${durationText(seconds)}`;
}
