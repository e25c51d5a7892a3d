// View of the server's state: its components, training jobs, and base models with their engines.
import type { TrainingJob } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { HoneError } from "../../client/hone-error.ts";
import { readMetrics, valueOf, type Sample } from "../metrics.ts";
import { byteText, shortNumber } from "../components/numbers.ts";
import { shortId } from "../components/short-id.ts";
import { Facts, Shown, State, View } from "../components/shown.tsx";
import { addressOf } from "../router.ts";
import { useLoaded } from "../use-loaded.ts";
import { progressText } from "./jobs.tsx";

const everyMs = 3000;
/** Maximum number of running jobs in the list. */
const jobsMax = 10;

interface Seen {
  readonly version: string;
  /** Components of the server that the system check covers, with their state. */
  readonly parts: readonly (readonly [string, string])[];
  /** Base models with their state, such as loaded or not. */
  readonly bases: readonly (readonly [string, string])[];
  readonly samples: readonly Sample[];
  /** Running jobs that the user can see. */
  readonly jobs: readonly TrainingJob[];
}

export function Overview({ hone }: { readonly hone: Hone }) {
  const loaded = useLoaded((signal) => look(hone, signal), [hone], everyMs);
  return (
    <View title="Overview">
      <Shown loaded={loaded}>
        {({ version, parts, bases, samples, jobs }) => (
          <>
            <section aria-labelledby="server">
              <h2 id="server">Server</h2>
              <Facts
                of={[
                  ["version", version],
                  ...parts.map(([name, state]) => [name.replaceAll("_", " "), <State of={state} />] as const),
                  ["requests in progress", number(samples, "hone_http_requests_in_flight")],
                  ["running training jobs", number(samples, "hone_training_jobs_running")],
                  ["model memory", memoryOf(samples)],
                ]}
              />
            </section>
            <Running jobs={jobs} />
            {bases.map(([name, state]) => (
              <Base key={name} name={name} state={state} samples={samples} />
            ))}
          </>
        )}
      </Shown>
    </View>
  );
}

function Running({ jobs }: { readonly jobs: readonly TrainingJob[] }) {
  return (
    <section aria-labelledby="running">
      <h2 id="running">Training</h2>
      {jobs.length === 0 && <p class="muted">No running jobs.</p>}
      <ul class="bare">
        {jobs.map((job) => (
          <li key={job.id}>
            <a href={addressOf("jobs", [job.id])} data-row>
              {shortId(job.id)}
            </a>{" "}
            {progressText(job)}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Base({
  name,
  state,
  samples,
}: {
  readonly name: string;
  readonly state: string;
  readonly samples: readonly Sample[];
}) {
  const own = { base_model: name };
  const read = (metric: string): number | null => valueOf(samples, `hone_engine_${metric}`, own);
  const [used, most] = [read("kv_cache_bytes"), read("kv_cache_bytes_max")];
  const [hits, queries] = [read("prefix_cache_hits"), read("prefix_cache_queries")];
  const id = `base-${name}`;
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>
        {name} <State of={state} />
      </h2>
      <Facts
        of={[
          ["running requests", text(read("requests_running"))],
          ["queued requests", text(read("requests_waiting"))],
          [
            "generated tokens",
            text(valueOf(samples, "hone_chat_tokens_total", { base: name, kind: "completion" })),
          ],
          ["queued prompts", text(valueOf(samples, "hone_chat_prompts_waiting", own))],
          ["KV cache", <Meter label={`KV cache of ${name}`} used={used} most={most} />],
          [
            "prompt tokens from the cache",
            hits === null || !queries ? "–" : `${shortNumber((100 * hits) / queries)} %`,
          ],
        ]}
      />
    </section>
  );
}

function Meter({
  label,
  used,
  most,
}: {
  readonly label: string;
  readonly used: number | null;
  readonly most: number | null;
}) {
  if (used === null) return <>–</>;
  if (most === null) return <>{byteText(used)}</>;
  return (
    <>
      <meter aria-label={label} min={0} max={most} value={used} /> {byteText(used)} of {byteText(most)}
    </>
  );
}

async function look(hone: Hone, signal: AbortSignal): Promise<Seen> {
  const [version, health, check, metrics, running] = await Promise.all([
    hone.server.version({ signal }),
    bodyOrUnhealthy(hone.server.health({ signal })),
    bodyOrUnhealthy(hone.server.check({ signal })),
    hone.server.metrics({ signal }),
    hone.jobs.list({ state: "running", limit: jobsMax }, { signal }).first(),
  ]);
  const parts = Object.entries(check).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string" && entry[0] !== "status",
  );
  return {
    version,
    parts,
    bases: Object.entries(health.models ?? {}),
    samples: readMetrics(metrics),
    jobs: running.data,
  };
}

/** Returns the body of a response, also of an unhealthy server's error response, which has the same format. */
async function bodyOrUnhealthy<Body extends object>(asked: Promise<Body>): Promise<Body> {
  try {
    return await asked;
  } catch (error) {
    if (
      error instanceof HoneError &&
      error.status === 503 &&
      typeof error.body === "object" &&
      error.body !== null
    )
      return error.body as Body;
    throw error;
  }
}

function memoryOf(samples: readonly Sample[]): string {
  const bytes = valueOf(samples, "hone_model_memory_bytes");
  const most = valueOf(samples, "hone_model_memory_bytes_max");
  if (bytes === null) return "–";
  return !most ? byteText(bytes) : `${byteText(bytes)} of ${byteText(most)}`;
}

function number(samples: readonly Sample[], name: string): string {
  return text(valueOf(samples, name));
}

function text(value: number | null): string {
  return value === null ? "–" : shortNumber(value);
}
