// API format of Langfuse's scores. A score becomes feedback on a call (an observation) or on a whole trace.
import { Type, type Static } from "typebox";
import type { FeedbackInput } from "../../../judge/feedback/check-content.ts";
import type { Json, JsonObject } from "../../../base/domain/text/json.ts";
import { report, type Findings } from "../../../base/validation/findings.ts";
import { checked } from "../body.ts";
import { open } from "../fields/any-object.ts";
import { nullable } from "../nullable.ts";
import { scoreInput, scoreNameMax } from "../otlp/score-input.ts";

/** Maximum number of scores in a request. Langfuse's libraries send at most 100. */
export const scoresMax = 1000;

const dataTypes = ["NUMERIC", "BOOLEAN", "CATEGORICAL", "TEXT", "CORRECTION"] as const;
const id = (description: string) => nullable(Type.String({ minLength: 1, maxLength: 200 }), { description });

export const scoreSchema = Type.Object(
  {
    id: id("Id of the score. A score with the same id replaces the earlier one."),
    traceId: id("Id of the judged trace. Required."),
    observationId: id("Id of the judged observation; by default, the whole trace is judged."),
    name: Type.String({ minLength: 1, maxLength: scoreNameMax, description: "Name of the score." }),
    value: Type.Union([Type.Number(), Type.Boolean(), Type.String({ maxLength: 10_000 })], {
      description:
        "The score: a number with type NUMERIC; 0, 1, true or false with BOOLEAN; a text with other types.",
    }),
    dataType: nullable(Type.Enum([...dataTypes]), {
      description: "Type of the value; by default, NUMERIC for a number and CATEGORICAL for a text.",
    }),
    comment: nullable(Type.String(), { description: "Comment on the score." }),
    metadata: Type.Optional(Type.Unknown({ description: "Further data, stored with the score." })),
    environment: nullable(Type.String(), { description: "Name of the environment, stored with the score." }),
    source: nullable(Type.String(), { description: "Origin of the score, stored with the score." }),
    timestamp: nullable(Type.String(), { description: "Time of the score, stored with the score." }),
    sessionId: nullable(Type.String(), {
      description: "Not supported. Judge a trace or an observation instead.",
    }),
    datasetRunId: nullable(Type.String(), {
      description: "Not supported. Judge a trace or an observation instead.",
    }),
    queueId: nullable(Type.String(), { description: "Not supported." }),
    configId: nullable(Type.String(), { description: "Not supported. Give `dataType` instead." }),
  },
  { title: "LangfuseScore" },
);

const ingestionEventSchema = Type.Object({
  id: Type.String({ maxLength: 256, description: "Id of the event." }),
  type: Type.String({ description: "Only `score-create` is supported." }),
  body: Type.Object({}, { ...open, description: "The score." }),
});
export const ingestionBodySchema = Type.Object(
  {
    batch: Type.Array(ingestionEventSchema, {
      maxItems: scoresMax,
      description: "Events, each with a score.",
    }),
    metadata: Type.Optional(Type.Unknown({ description: "Accepted, but has no effect." })),
  },
  { title: "LangfuseIngestion" },
);

const unserved = ["sessionId", "datasetRunId", "queueId", "configId"] as const;

/**
 * Checks a score, and converts it to feedback in a project.
 *
 * @throws ServiceError `invalid` with every fault
 */
export function readScore(sent: unknown, projectId: string): FeedbackInput {
  const { value: score } = checked(scoreSchema, sent, "body", checkScore);
  const { name, traceId, observationId } = score;
  const payload = {
    name,
    value: score.value,
    data_type: typeOf(score),
    trace_id: traceId,
    observation_id: observationId,
    comment: score.comment,
    metadata: score.metadata,
    environment: score.environment,
    source: score.source,
    timestamp: score.timestamp,
  };
  const known = Object.entries(payload).filter(([, value]) => value !== undefined && value !== null);
  return scoreInput({
    id: score.id ?? null,
    projectId,
    target: observationId ?? traceId ?? "",
    kind: "langfuse.score",
    name,
    // Safe cast: parsed from JSON.
    payload: Object.fromEntries(known) as JsonObject,
  });
}

function typeOf({ dataType, value }: Static<typeof scoreSchema>): Json {
  return dataType ?? (typeof value === "string" ? "CATEGORICAL" : "NUMERIC");
}

function checkScore(score: Readonly<Record<string, unknown>>, findings: Findings): void {
  const { traceId, dataType, value } = score;
  if ((traceId ?? null) === null) report(findings, "missing", "Field required", "traceId");
  for (const field of unserved) {
    if ((score[field] ?? null) === null) continue;
    report(findings, "unsupported", `${field} is not supported by this server; leave it out.`, field);
  }
  const isNumber = typeof value === "number" || typeof value === "boolean";
  if (dataType === "NUMERIC" && typeof value !== "number")
    report(findings, "value_error", "A NUMERIC score has a number as its value.", "value");
  if (dataType === "BOOLEAN" && !(isNumber && [0, 1].includes(Number(value))))
    report(findings, "value_error", "A BOOLEAN score has 0 or 1 as its value.", "value");
  if (typeof dataType === "string" && !["NUMERIC", "BOOLEAN"].includes(dataType) && typeof value !== "string")
    report(findings, "value_error", `A ${dataType} score has a text as its value.`, "value");
}

/** Returns the events of an ingestion request. Each of them may still be invalid. */
export function eventsIn(body: unknown): Static<typeof ingestionBodySchema>["batch"] {
  return checked(ingestionBodySchema, body, "body").value.batch;
}
