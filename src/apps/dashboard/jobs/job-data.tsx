// Part of the view of a job: the data that it trains on and skips.
import type { TrainingJob } from "../../client/api.ts";
import { costText } from "../../client/cost-text.ts";
import { jobItems } from "../../client/job-items.ts";
import { counted, shortNumber } from "../components/numbers.ts";
import { Facts } from "../components/shown.tsx";
import { explainSkip } from "./skip-reasons.ts";

/** Amount of training data, and counts of skipped data by reason. */
export function NotTrained({
  job: { counts, kind, preference_config: preferences, config_not_applied: notApplied, ...job },
}: {
  readonly job: TrainingJob;
}) {
  if (counts === null) return null;
  const skipped = Object.entries(counts.skipped).filter(([, count]) => count > 0);
  const isGrouped = kind === "rl";
  const cost = costText(job);
  const items = jobItems({ kind, preference_config: preferences });
  return (
    <section aria-labelledby="data">
      <h2 id="data">Training data</h2>
      <Facts
        of={[
          ...(isGrouped
            ? ([["groups", `${counts.groups_trainable} of ${counts.groups_submitted}`]] as const)
            : []),
          [items.many, shortNumber(counts.trajectories)],
          ["sequences", shortNumber(counts.sequences)],
          [
            "trained tokens",
            `${counts.trainable_tokens.toLocaleString("en")} × ${counted(counts.steps?.passes ?? 1, "pass", "passes")}`,
          ],
          ...(cost === null ? [] : ([["cost", cost]] as const)),
        ]}
      />
      {skipped.length > 0 && (
        <>
          <h3>Skipped data</h3>
          <ul>
            {skipped.map(([reason, count]) => (
              <li key={reason}>
                {counted(count, items.one, items.many)}
                {isGrouped && inGroups(counts.skipped_groups[reason] ?? 0)}: {explainSkip(reason)} (
                <code>{reason}</code>)
              </li>
            ))}
          </ul>
        </>
      )}
      {notApplied.length > 0 && <p class="warning">Not applied: {notApplied.join(", ")}.</p>}
    </section>
  );
}

function inGroups(count: number): string {
  return ` in ${counted(count, "group")}`;
}
