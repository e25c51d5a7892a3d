// View of a job: its state, the curves of its steps (updated live), and the data that it skipped.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { TrainingJob } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { webPlatform } from "../../client/platform.ts";
import { ChartBoard } from "../charts/chart-board.tsx";
import { CodeText } from "../components/errors/code-text.tsx";
import { ActionButton } from "../components/forms/action-button.tsx";
import { durationText } from "../components/numbers.ts";
import { shortId } from "../components/short-id.ts";
import { Facts, Shown, View, When } from "../components/shown.tsx";
import { JobState } from "../components/tables/job-cells.tsx";
import { jobsChanged, summary } from "../live.ts";
import { addressOf, go } from "../router.ts";
import { may } from "../session.ts";
import { useLoaded } from "../use-loaded.ts";
import { FeedbackBehind } from "../jobs/feedback-behind.tsx";
import { NotTrained } from "../jobs/job-data.tsx";
import { JobSettings } from "../jobs/job-settings-list.tsx";
import { queueSeconds } from "../jobs/job-settings.ts";
import { NextSteps } from "../jobs/next-steps.tsx";
import { JobWarnings } from "../jobs/job-warnings.tsx";
import { kindTitle, progressText, withLiveProgress } from "./job-list.ts";
import { lastStep } from "../charts/curve.ts";
import { useStepCurves } from "../jobs/use-step-curves.ts";

const everyMs = 1500;

export function JobView({ hone, id }: { readonly hone: Hone; readonly id: string }) {
  const [hasEnded, setHasEnded] = useState(false);
  const loaded = useLoaded(
    async (signal) => {
      const job = await hone.jobs.get(id, { signal });
      setHasEnded(isFinished(job));
      return job;
    },
    [hone, id, jobsChanged.value],
    hasEnded ? null : everyMs,
  );
  const { curves, failure } = useStepCurves(hone, id);
  const hasGroups = loaded.value?.kind === "rl";
  return (
    <View
      title={`Job ${shortId(id)}`}
      path={[["Jobs", addressOf("jobs")]]}
      state={loaded.value !== null && <JobState job={loaded.value} />}
      actions={
        loaded.value !== null &&
        may("train") &&
        isFinished(loaded.value) && (
          <a class="button" href={addressOf("train", [], { job: id })}>
            Train again with other settings
          </a>
        )
      }
    >
      <Shown loaded={loaded}>
        {(job) => (
          <>
            <Facts
              of={[
                ["model", <ModelLink job={job} />],
                ["kind", kindTitle(job.kind)],
                ["version", job.result_step ?? "–"],
                ["created", <When at={job.created_at} />],
                ["duration", formatDuration(job)],
                ["waited", queueText(job)],
                ["attempts", String(job.attempts)],
                ...earlierJobs(job),
              ]}
            />
            <Progress
              job={withLiveProgress(
                job,
                summary.value?.running_jobs ?? [],
                // A later attempt repeats steps of the one before.
                job.attempts > 1 ? 0 : lastStep(curves),
              )}
            />
            <Actions hone={hone} job={job} onChange={loaded.reload} />
            <NextSteps hone={hone} job={job} />
            <JobWarnings job={job} />
            <NotTrained job={job} />
            {job.kind === "rl" && job.counts !== null && (
              <p class="links">
                <a href={addressOf("jobs", [id, "groups"])}>Groups and their trajectories</a>
              </p>
            )}
            <FeedbackBehind hone={hone} job={job} />
            <JobSettings job={job} />
          </>
        )}
      </Shown>
      {failure !== null && (
        <p class="failure" role="alert">
          Cannot follow the job's progress: <CodeText of={failure} />
        </p>
      )}
      {curves.length > 0 && (
        <section aria-labelledby="steps">
          <h2 id="steps">Curves over steps</h2>
          <p class="links">
            <a href={addressOf("runs", [], { of: "jobs", ids: id })}>Overlay with others</a>
          </p>
          {hasGroups && <p class="muted">Click a point to read the trajectories of the job.</p>}
          <ChartBoard
            curves={curves}
            addressOfPoint={() => (hasGroups ? addressOf("jobs", [id, "groups"]) : null)}
          />
        </section>
      )}
    </View>
  );
}

/** Returns the time from the job's creation to its start. */
function queueText(job: TrainingJob): string {
  const seconds = queueSeconds(job, webPlatform.now().getTime());
  return seconds === null ? "–" : durationText(seconds);
}

/** Links to the jobs that a job retries or replays. */
function earlierJobs({
  retry_of: retried,
  replay_of: replayed,
}: TrainingJob): readonly (readonly [string, ComponentChildren])[] {
  const link = (id: string) => <a href={addressOf("jobs", [id])}>{shortId(id)}</a>;
  return [
    ...(retried === null ? [] : ([["retries", link(retried)]] as const)),
    ...(replayed === null ? [] : ([["replays", link(replayed)]] as const)),
  ];
}

function ModelLink({ job: { model, model_id: id } }: { readonly job: TrainingJob }) {
  return <a href={addressOf("models", [id])}>{model?.split("/").slice(1).join("/") ?? shortId(id)}</a>;
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
  const retry = async (): Promise<void> => {
    const { id } = await hone.jobs.retry(job.id);
    go(addressOf("jobs", [id]));
  };
  const canRetry = job.state === "failed" || job.state === "cancelled";
  if (!may("train") || (isFinished(job) && !canRetry)) return null;
  return (
    <div class="row-buttons">
      {!isFinished(job) && (
        <ActionButton
          isOff={job.cancel_requested}
          asks={{
            title: "Cancel this job?",
            says: "Its training so far will be lost. The model keeps its versions.",
            button: "Cancel the job",
          }}
          act={() => hone.jobs.cancel(job.id).then(onChange)}
          done="Cancelling the job."
        >
          {job.cancel_requested ? "Cancelling …" : "Cancel the job"}
        </ActionButton>
      )}
      {canRetry && (
        <ActionButton act={retry} done="Job queued again.">
          Retry
        </ActionButton>
      )}
    </div>
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

/** Returns how long a finished job ran; a dash for other jobs. */
function formatDuration({ started_at: startedAt, ended_at: endedAt }: TrainingJob): string {
  if (startedAt === null || endedAt === null) return "–";
  return durationText((Date.parse(endedAt) - Date.parse(startedAt)) / 1000);
}

function isFinished({ state }: TrainingJob): boolean {
  return state !== "queued" && state !== "running";
}
