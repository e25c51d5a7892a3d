// Reads the body of a request that logs trajectories. Returns the groups in their stored form, and the values for their
// metrics.
import { Type } from "typebox";
import { nullable } from "./nullable.ts";
import { LogSummarizer, type LogSummary } from "../../train/trajectories/log-summary.ts";
import { report } from "../../base/validation/findings.ts";
import { locate } from "./field-paths.ts";
import { pageQueryFields } from "./page.ts";
import type { BodyForm } from "./body.ts";
import { metricsSchema, readGroupBody, trajectoryGroupSchema } from "./trajectory.ts";
import type { BodyLimits } from "./body-limits.ts";
import type { PackedLines } from "./packed-lines.ts";

export const logQuerySchema = Type.Object({
  ...pageQueryFields,
  split: Type.Optional(Type.String({ description: "Only logs of this split." })),
});

const defaultSplit = "val";

export const logSchema = Type.Object(
  {
    split: nullable(Type.String({ minLength: 1, maxLength: 128 }), {
      default: defaultSplit,
      description:
        "Split of the trajectories, such as train or val. Names of metrics begin with the split (`val/reward`).",
    }),
    step: nullable(Type.Integer({ minimum: 0 }), {
      description:
        "Version of the model that the trajectories belong to. Default: the final_policy_version of the trajectories if all have the same, otherwise the newest version.",
    }),
    trajectory_groups: Type.Array(trajectoryGroupSchema, { description: "The trajectories to log." }),
    model_id: nullable(Type.String(), {
      description: "Id of the model. If present, it must equal the id in the path.",
    }),
  },
  { title: "TrajectoryLog" },
);

const logForm: BodyForm<typeof logSchema> = {
  schema: logSchema,
  more: ({ split }, findings) => {
    if (typeof split !== "string" || !/[\0\p{Surrogate}]/u.test(split)) return;
    report(findings, "value_error", "Value error, it holds a character that is not text", "split");
  },
};

export const loggedSchema = Type.Object(
  {
    detail: Type.Array(Type.Unknown(), {
      maxItems: 0,
      description: "Always empty; some clients expect the field.",
    }),
    model_id: Type.String({ format: "uuid" }),
    split: Type.String(),
    step: Type.Integer({ minimum: 0, description: "Version of the model that the log belongs to." }),
    trajectories: Type.Integer({ minimum: 0, description: "Number of trajectories logged." }),
    metrics: metricsSchema,
  },
  { title: "Logged" },
);

export interface ReadLog {
  readonly split: string;
  /** Step of the version to which the trajectories belong; null if the body has none. */
  readonly step: number | null;
  /** Model id in the body, which repeats the id in the URL's path; null if absent. */
  readonly modelId: string | null;
  readonly summary: LogSummary;
  /** Trajectory groups in stored form. */
  readonly lines: PackedLines;
  /** Summaries of the trajectories in the groups. */
  readonly outlines: PackedLines;
  readonly ignored: readonly string[];
}

/**
 * Reads the body of a request that logs trajectories.
 *
 * @throws ServiceError `invalid` with every fault
 */
export function readLog(bytes: Buffer, limits: BodyLimits): ReadLog {
  const summarizer = new LogSummarizer();
  const { value, ignored, lines, outlines } = readGroupBody(logForm, bytes, limits, {
    onGroup: (group) => summarizer.add(group),
  });
  const split = value.split ?? defaultSplit;
  try {
    const summary = summarizer.summary(split);
    const modelId = value.model_id?.toLowerCase() ?? null;
    return { split, step: value.step ?? null, modelId, summary, lines, outlines, ignored };
  } catch (error) {
    throw locate(error, { groups: ["body", "trajectory_groups"] });
  }
}
