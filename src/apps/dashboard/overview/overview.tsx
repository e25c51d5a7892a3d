// View of the server: the numbers that matter, the newest jobs, the base models and the server's parts.
import type { OwnKey, ServerSummary } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { byteText, shortNumber } from "../components/numbers.ts";
import { State, View } from "../components/shown.tsx";
import { Skeleton } from "../components/skeleton.tsx";
import { Stats } from "../components/stats.tsx";
import { canDo } from "../frame/key-access.ts";
import { KeyViews } from "../keys/key-views.tsx";
import { isAway, jobsChanged, summary } from "../live.ts";
import { addressOf } from "../router.ts";
import { useLoaded } from "../use-loaded.ts";
import { Bases } from "./bases.tsx";
import { FirstSteps, hasFirstSteps } from "./first-steps.tsx";
import { Parts } from "./parts.tsx";
import { RecentJobs } from "./recent-jobs.tsx";

/** Number of the newest jobs that are shown. */
const limit = 8;

export function Overview({ hone, ownKey }: { readonly hone: Hone; readonly ownKey: OwnKey }) {
  const seesJobs = canDo(ownKey, "readModels");
  const now = summary.value;
  const jobs = useLoaded(
    async (signal) => (seesJobs ? hone.jobs.list({ limit }, { signal }).first() : null),
    [hone, seesJobs, jobsChanged.value],
  );
  const isNew = jobs.value?.data.length === 0;
  // Everything appears at once, so that nothing moves after it has appeared.
  const isLoaded = now !== null && !(jobs.isLoading && jobs.value === null && jobs.failure === null);
  return (
    <View title="Overview" state={now !== null && <State of={isAway.value ? "unreachable" : now.state} />}>
      {!isLoaded && <Skeleton />}
      {isLoaded && (
        <>
          <Numbers now={now} />
          {hasFirstSteps(isNew) && <FirstSteps />}
          <div class={isNew ? "" : "beside"}>
            {!isNew && (seesJobs ? <RecentJobs jobs={jobs} /> : <KeyViews ownKey={ownKey} />)}
            <aside class={isNew ? "cards" : ""}>
              <Bases bases={now.bases} />
              <Parts parts={now.parts} note={now.note} version={now.version} />
            </aside>
          </div>
        </>
      )}
    </View>
  );
}

/** Says which memory the number counts, and links to the view that loads and unloads models. */
function memoryHint(most: number | null): string {
  const what = "loaded base models with their caches";
  return most === null ? what : `of ${byteText(most)}: ${what}`;
}

function Numbers({ now }: { readonly now: ServerSummary }) {
  const sum = (name: "requests_running" | "requests_waiting" | "generated_tokens"): number =>
    now.bases.reduce((total, base) => total + (base[name] ?? 0), 0);
  const { model_memory_bytes: memory, model_memory_bytes_max: most, running_jobs: jobs } = now;
  return (
    <Stats
      of={[
        { label: "Running jobs", value: jobs.length === 10 ? "10+" : String(jobs.length) },
        {
          label: "Running requests",
          value: shortNumber(sum("requests_running")),
          hint: `${shortNumber(sum("requests_waiting"))} queued`,
        },
        {
          label: "Generated tokens",
          value: shortNumber(sum("generated_tokens")),
          hint: "since the server started",
        },
        {
          label: "Model memory",
          value: memory === null ? "–" : byteText(memory),
          hint: <a href={addressOf("bases")}>{memoryHint(most)}</a>,
        },
      ]}
    />
  );
}
