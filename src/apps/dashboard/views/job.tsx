// View of a job: its state, the curves of its steps (updated live), and the data that it skipped.
import { useState } from "preact/hooks";
import type { TrainingJob } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { jobItems } from "../../client/job-items.ts";
import { ChartBoard } from "../charts/chart-board.tsx";
import { durationText, shortNumber } from "../components/numbers.ts";
import { shortId } from "../components/short-id.ts";
import { Facts, Shown, State, View, When } from "../components/shown.tsx";
import { addressOf, go } from "../router.ts";
import { useLoaded, messageOf } from "../use-loaded.ts";
import { progressText } from "./jobs.tsx";
import { explainSkip } from "./skip-reasons.ts";
import { useStepCurves } from "./use-step-curves.ts";

const everyMs = 1500;

export function JobView({ hone, id }: { readonly hone: Hone; readonly id: string }) {
  const [hasEnded, setHasEnded] = useState(false);
  const loaded = useLoaded(
    async (signal) => {
      const job = await hone.jobs.get(id, { signal });
      setHasEnded(isFinished(job));
      return job;
    },
    [hone, id],
    hasEnded ? null : everyMs,
  );
  const { curves, failure } = useStepCurves(hone, id);
  return (
    <View title={`Job ${shortId(id)}`}>
      <Shown loaded={loaded}>
        {(job) => (
          <>
            <Facts
              of={[
                ["state", <State of={job.state} />],
                ["model", <ModelLink hone={hone} id={job.model_id} />],
                ["kind", job.kind],
                ["version", job.result_step ?? "–"],
                ["created", <When at={job.created_at} />],
                ["duration", formatDuration(job)],
                ["attempts", String(job.attempts)],
              ]}
            />
            <Progress job={job} />
            <Actions hone={hone} job={job} onChange={loaded.reload} />
            {job.warnings.map((warning) => (
              <p key={warning} class="warning">
                {warning}
              </p>
            ))}
            <NotTrained job={job} />
          </>
        )}
      </Shown>
      {failure !== null && (
        <p class="failure" role="alert">
          Cannot follow the job's progress: {failure}
        </p>
      )}
      {curves.length > 0 && (
        <section aria-labelledby="steps">
          <h2 id="steps">Curves over steps</h2>
          <ChartBoard curves={curves} />
        </section>
      )}
    </View>
  );
}

function ModelLink({ hone, id }: { readonly hone: Hone; readonly id: string }) {
  const { value } = useLoaded((signal) => hone.models.get(id, { signal }), [hone, id]);
  return (
    <a href={addressOf("models", [id])}>{value === null ? shortId(id) : `${value.project}/${value.name}`}</a>
  );
}

/** Buttons that cancel or retry a job. */
function Actions({
  hone,
  job,
  onChange,
}: {
  readonly hone: Hone;
  readonly job: TrainingJob;
  readonly onChange: () => void;
}) {
  const [failure, setFailure] = useState<string | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  const doing = async (action: () => Promise<void>): Promise<void> => {
    setFailure(null);
    setIsBusy(true);
    try {
      await action();
    } catch (error) {
      setFailure(messageOf(error));
    } finally {
      setIsBusy(false);
    }
  };
  const cancel = async (): Promise<void> => {
    if (!confirm("Cancel this job? Its training so far will be lost.")) return;
    await hone.jobs.cancel(job.id);
    onChange();
  };
  const retry = async (): Promise<void> => {
    const { id } = await hone.jobs.retry(job.id);
    go(addressOf("jobs", [id]));
  };
  const canRetry = job.state === "failed" || job.state === "cancelled";
  if (isFinished(job) && !canRetry) return null;
  return (
    <p>
      {!isFinished(job) && (
        <button type="button" disabled={isBusy || job.cancel_requested} onClick={() => void doing(cancel)}>
          {job.cancel_requested ? "Cancelling …" : "Cancel the job"}
        </button>
      )}
      {canRetry && (
        <button type="button" disabled={isBusy} onClick={() => void doing(retry)}>
          Retry
        </button>
      )}
      {failure !== null && (
        <span class="failure" role="alert">
          {failure}
        </span>
      )}
    </p>
  );
}

function Progress({ job }: { readonly job: TrainingJob }) {
  const text = progressText(job);
  const total = job.progress?.gradient_steps_total ?? null;
  return (
    <div aria-live="polite">
      {job.phase === "training" && total !== null && job.progress !== null && (
        <progress aria-label="Gradient steps" max={total} value={job.progress.gradient_steps} />
      )}
      {text !== "" && <p class={job.state === "failed" ? "failure" : ""}>{text}</p>}
    </div>
  );
}

/** Amount of training data, and counts of skipped data by reason. */
function NotTrained({
  job: { counts, kind, preference_config: preferences, config_not_applied: notApplied },
}: {
  readonly job: TrainingJob;
}) {
  if (counts === null) return null;
  const skipped = Object.entries(counts.skipped).filter(([, count]) => count > 0);
  const isGrouped = kind === "rl";
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
          ["tokens", shortNumber(counts.trainable_tokens)],
        ]}
      />
      {skipped.length > 0 && (
        <>
          <h3>Skipped data</h3>
          <ul>
            {skipped.map(([reason, count]) => (
              <li key={reason}>
                {count} {count === 1 ? items.one : items.many}
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
  return ` in ${count} ${count === 1 ? "group" : "groups"}`;
}

/** Returns how long a finished job ran; a dash for other jobs. */
function formatDuration({ started_at: startedAt, ended_at: endedAt }: TrainingJob): string {
  if (startedAt === null || endedAt === null) return "–";
  return durationText((Date.parse(endedAt) - Date.parse(startedAt)) / 1000);
}

function isFinished({ state }: TrainingJob): boolean {
  return state !== "queued" && state !== "running";
}
