// One job as it runs: its state, the curves of its steps as they come, and what did not train, with why.
import { useEffect, useState } from "preact/hooks";
import type { TrainingEvent, TrainingJob } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { Chart, type Curve } from "../parts/chart.tsx";
import { durationText, shortNumber } from "../parts/numbers.ts";
import { Facts, Shown, State, View, When } from "../parts/shown.tsx";
import { addressOf } from "../router.ts";
import { useLoaded, wordsOf } from "../use-loaded.ts";
import { progressText } from "./jobs.tsx";

const everyMs = 1500;
/** Metrics with a curve, the first ones first; those that a job lacks are left out. */
const shownMetrics = [
  "reward",
  "loss",
  "entropy",
  "kl_div",
  "kl_policy_ref",
  "grad_norm",
  "learning_rate",
  "tokens_per_second",
];

export function JobView({ hone, id }: { readonly hone: Hone; readonly id: string }) {
  const [hasEnded, setHasEnded] = useState(false);
  const loaded = useLoaded(
    async (signal) => {
      const job = await hone.jobs.get(id, { signal });
      setHasEnded(isOver(job));
      return job;
    },
    [hone, id],
    hasEnded ? null : everyMs,
  );
  const { curves, failure } = useSteps(hone, id);
  return (
    <View title={`Job ${id.slice(0, 8)}`}>
      <Shown loaded={loaded}>
        {(job) => (
          <>
            <Facts
              of={[
                ["state", <State of={job.state} />],
                ["model", <a href={addressOf("models", [job.model_id])}>open</a>],
                ["version", job.result_step ?? "–"],
                ["created", <When at={job.created_at} />],
                ["took", tookText(job)],
                ["attempts", String(job.attempts)],
              ]}
            />
            <Progress job={job} />
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
          Its steps cannot be followed: {failure}
        </p>
      )}
      {curves.length > 0 && (
        <section aria-labelledby="steps">
          <h2 id="steps">Curves over steps</h2>
          <div class="charts">
            {curves.map((curve) => (
              <Chart key={curve.label} curve={curve} />
            ))}
          </div>
        </section>
      )}
    </View>
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

/** What was sent and does not train, each kind with how much of it. */
function NotTrained({ job: { counts, config_not_applied: notApplied } }: { readonly job: TrainingJob }) {
  if (counts === null) return null;
  const skipped = [
    ...Object.entries(counts.skipped).map(
      ([why, count]) => [`trajectories: ${why.replaceAll("_", " ")}`, count] as const,
    ),
    ...Object.entries(counts.skipped_groups).map(
      ([why, count]) => [`groups: ${why.replaceAll("_", " ")}`, count] as const,
    ),
  ].filter(([, count]) => count > 0);
  return (
    <section aria-labelledby="data">
      <h2 id="data">What trains</h2>
      <Facts
        of={[
          ["groups", `${counts.groups_trainable} of ${counts.groups_submitted}`],
          ["trajectories", shortNumber(counts.trajectories)],
          ["sequences", shortNumber(counts.sequences)],
          ["tokens", shortNumber(counts.trainable_tokens)],
        ]}
      />
      {skipped.length > 0 && (
        <>
          <h3>What does not, and why</h3>
          <ul>
            {skipped.map(([why, count]) => (
              <li key={why}>
                {count} {why}
              </li>
            ))}
          </ul>
        </>
      )}
      {notApplied.length > 0 && <p class="warning">Not applied: {notApplied.join(", ")}.</p>}
    </section>
  );
}

/** The curves of a job's steps, as its events come. */
function useSteps(
  hone: Hone,
  id: string,
): { readonly curves: readonly Curve[]; readonly failure: string | null } {
  const [steps, setSteps] = useState<readonly TrainingEvent[]>([]);
  const [failure, setFailure] = useState<string | null>(null);
  useEffect(() => {
    const leaving = new AbortController();
    setSteps([]);
    setFailure(null);
    const follow = async (): Promise<void> => {
      let gathered: TrainingEvent[] = [];
      let timer: ReturnType<typeof setTimeout> | null = null;
      // Many events at once are one change of the page.
      const show = (): void => {
        timer = null;
        if (leaving.signal.aborted) return;
        const come = gathered;
        gathered = [];
        setSteps((before) => [...before, ...come]);
      };
      for await (const event of hone.jobs.follow(id, { signal: leaving.signal })) {
        if (event.type !== "gradient_step") continue;
        gathered.push(event);
        timer ??= setTimeout(show, 100);
      }
    };
    follow().catch((error: unknown) => {
      if (!leaving.signal.aborted) setFailure(wordsOf(error));
    });
    return () => leaving.abort();
  }, [hone, id]);
  return { curves: stepCurves(steps), failure };
}

/** Of events of gradient steps, the oldest first. */
export function stepCurves(events: readonly TrainingEvent[]): readonly Curve[] {
  return shownMetrics.flatMap((label) => {
    const points = events.flatMap(({ data }, index) => {
      const value = data[label];
      return typeof value === "number"
        ? [[typeof data["step"] === "number" ? data["step"] : index + 1, value] as const]
        : [];
    });
    if (points.length === 0) return [];
    return [{ label, steps: points.map(([step]) => step), values: points.map(([, value]) => value) }];
  });
}

/** Of a job that has ended. */
function tookText({ started_at: startedAt, ended_at: endedAt }: TrainingJob): string {
  if (startedAt === null || endedAt === null) return "–";
  return durationText((Date.parse(endedAt) - Date.parse(startedAt)) / 1000);
}

function isOver({ state }: TrainingJob): boolean {
  return state !== "queued" && state !== "running";
}
