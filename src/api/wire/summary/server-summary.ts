// API format of the server's summary for pages that stay open: its health, its base models and the running jobs.
import { Type } from "typebox";
import { jobKinds } from "../../../base/domain/job.ts";
import { healthSchema, systemCheckSchema } from "../health.ts";
import { orNull } from "../nullable.ts";

/** Metrics of a base model in the summary, keyed by field name. */
export const baseMetrics = {
  requests_running: {
    metric: "hone_engine_requests_running",
    label: "base_model",
    about: "Running requests",
  },
  requests_waiting: {
    metric: "hone_engine_requests_waiting",
    label: "base_model",
    about: "Waiting requests",
  },
  prompts_waiting: {
    metric: "hone_chat_prompts_waiting",
    label: "base_model",
    about: "Prompts that wait to be rendered",
  },
  kv_cache_bytes: {
    metric: "hone_engine_kv_cache_bytes",
    label: "base_model",
    about: "Used bytes of the KV cache",
  },
  kv_cache_bytes_max: {
    metric: "hone_engine_kv_cache_bytes_max",
    label: "base_model",
    about: "Size of the KV cache in bytes",
  },
  prefix_cache_hits: {
    metric: "hone_engine_prefix_cache_hits",
    label: "base_model",
    about: "Prompt tokens found in the prefix cache",
  },
  prefix_cache_queries: {
    metric: "hone_engine_prefix_cache_queries",
    label: "base_model",
    about: "Prompt tokens looked up in the prefix cache",
  },
  generated_tokens: {
    metric: "hone_chat_tokens_total",
    label: "base",
    about: "Tokens generated since the server started",
  },
} as const;
export type BaseMetric = keyof typeof baseMetrics;

/** Value of a metric; null if the server does not measure it. */
const measured = (about: string) =>
  orNull(Type.Number(), { description: `${about}; null if the engine does not report this number.` });

const metricSchemas = Object.fromEntries(
  Object.entries(baseMetrics).map(([name, { about }]) => [name, measured(about)]),
) as { readonly [Name in BaseMetric]: ReturnType<typeof measured> };

const baseSchema = Type.Object({
  name: Type.String(),
  state: Type.String({
    description: "`loaded`, `loading`, `unloaded`, or `failed` with the reason, as in the health check.",
  }),
  ...metricSchemas,
});

const runningJobSchema = Type.Object({
  id: Type.String(),
  model_id: Type.String(),
  model: orNull(Type.String(), {
    description: "The model as `<entity>/<project>/<name>`; null if it has been deleted.",
  }),
  kind: Type.Enum([...jobKinds]),
  gradient_steps: orNull(Type.Integer({ minimum: 0 }), {
    description: "Number of optimizer steps completed; null before the first report.",
  }),
  gradient_steps_total: orNull(Type.Integer({ minimum: 0 }), {
    description: "Total number of optimizer steps; null until all data is tokenized.",
  }),
  waiting_for: orNull(Type.String(), { description: "Reason why the job waits; null if it makes progress." }),
});

export const serverSummarySchema = Type.Object(
  {
    version: Type.String({ description: "Version of Hone." }),
    state: healthSchema.properties.state,
    parts: Type.Record(Type.String(), Type.String(), {
      description:
        "State of each part of the server, as in `GET /v1/system-check`: `ok`, or a description of the fault.",
    }),
    note: systemCheckSchema.properties.note,
    webhooks_allowed: Type.Boolean({
      description: "True if the server may send webhooks: its setting `webhooks.allowed` has an entry.",
    }),
    model_memory_bytes: measured("Estimate of the memory of the loaded base models"),
    model_memory_bytes_max: measured("Maximum memory of the loaded base models"),
    bases: Type.Array(baseSchema, { description: "Base models, the default first." }),
    running_jobs: Type.Array(runningJobSchema, {
      description: "At most 10 running jobs that the key can read, newest first.",
    }),
    newest_job_id: orNull(Type.String(), {
      description: "Id of the newest job that the key can read; null if there is none.",
    }),
  },
  { title: "ServerSummary" },
);
