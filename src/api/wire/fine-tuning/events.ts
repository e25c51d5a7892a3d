// API format of the events of fine-tuning jobs. A supervised or DPO job has the events of its training job; a
// reinforcement job has its own events.
import { Type, type Static } from "typebox";
import { unreachable } from "../../../base/domain/assert.ts";
import type { FineTuningJob } from "../../../base/domain/fine-tuning/fine-tuning-job.ts";
import type { ReinforcementEvent } from "../../../base/domain/fine-tuning/reinforcement.ts";
import type { JobEvent, TrainingJob } from "../../../base/domain/job.ts";
import type { JsonObject } from "../../../base/domain/text/json.ts";
import { nullable } from "../nullable.ts";
import { seconds } from "./job.ts";

export const fineTuningEventSchema = Type.Object(
  {
    id: Type.String(),
    object: Type.Enum(["fine_tuning.job.event"]),
    created_at: Type.Integer({
      description:
        "Unix time in seconds. All step events of a supervised or dpo job have the time at which the training started.",
    }),
    level: Type.Enum(["info", "warn", "error"]),
    message: Type.String(),
    type: Type.Enum(["message", "metrics"]),
    data: nullable(Type.Object({}, { additionalProperties: true })),
  },
  { title: "FineTuningJobEvent" },
);

export type FineTuningEventBody = Static<typeof fineTuningEventSchema>;

const idPrefix = "ftevent-";

/** Returns the id of a job's first event. */
export function firstEventId({ id }: FineTuningJob): string {
  return `${idPrefix}${id}`;
}

/** Converts the id of an event in answers to the id of the training job's event. */
export function trainingEventId(id: string): string {
  return id.startsWith(idPrefix) ? id.slice(idPrefix.length) : id;
}

/** Returns the oldest event of a job. */
export function creationEvent(job: FineTuningJob): FineTuningEventBody {
  const { exampleCount, trainingFile } = job.order;
  const message = `Created fine-tuning job: ${job.id}. The training file ${trainingFile} has ${exampleCount} examples.`;
  return event({ id: firstEventId(job), created_at: seconds(job.createdAt), message });
}

export function trainingEvent({ id, type, data }: JobEvent, job: TrainingJob): FineTuningEventBody {
  const started = seconds(job.startedAt ?? job.createdAt);
  const ended = seconds(job.endedAt ?? job.startedAt ?? job.createdAt);
  const about = { id: `${idPrefix}${id}`, created_at: started };
  const { error_message: reason } = data;
  switch (type) {
    case "preparing":
      return event({ ...about, message: "Preparing the training data", data });
    case "training_started":
      return event({ ...about, message: "Fine-tuning job started", data });
    case "gradient_step":
      return stepEvent(about, data, job);
    case "training_ended":
      return event({ ...about, created_at: ended, message: "The job has successfully completed", data });
    case "training_failed":
      return event({
        ...about,
        created_at: ended,
        level: job.state === "cancelled" ? "info" : "error",
        message: typeof reason === "string" ? reason : "The job failed.",
      });
    default:
      return unreachable(type);
  }
}

function stepEvent(
  about: { readonly id: string; readonly created_at: number },
  data: JsonObject,
  job: TrainingJob,
): FineTuningEventBody {
  const step = Number(about.id.slice(about.id.lastIndexOf(":") + 1));
  const total = job.progress?.gradientStepCountTotal ?? null;
  const loss = data["loss/train"] ?? data["loss"];
  const held = data["loss/valid"];
  const shown = [
    ...(typeof loss === "number" ? [`training loss=${loss.toFixed(4)}`] : []),
    ...(typeof held === "number" ? [`full validation loss=${held.toFixed(4)}`] : []),
  ];
  return event({
    ...about,
    message: `Step ${step}${total === null ? "" : `/${total}`}${shown.length === 0 ? "" : ": "}${shown.join(", ")}`,
    type: "metrics",
    data: { step, total_steps: total, ...lossesOf({ train: loss, held }), ...data },
  });
}

/** Returns losses under the names of OpenAI's API; undefined ones are absent. Each measurement uses the whole file. */
export function lossesOf<Value>({ train, held }: { readonly train: Value; readonly held: Value }): object {
  return {
    ...(train === undefined ? {} : { train_loss: train }),
    ...(held === undefined ? {} : { valid_loss: held, full_valid_loss: held }),
  };
}

/** @param index position of the event in the list of its job's events, from 0 */
export function reinforcementEvent(
  job: FineTuningJob,
  { at, level, message, data }: ReinforcementEvent,
  index: number,
): FineTuningEventBody {
  const id = `${firstEventId(job)}:${index}`;
  const created = seconds(new Date(at));
  return event({
    id,
    created_at: created,
    level,
    message,
    ...(data && { type: "metrics", data: { ...data } }),
  });
}

function event(
  fields: Pick<FineTuningEventBody, "id" | "created_at" | "message"> & Partial<FineTuningEventBody>,
): FineTuningEventBody {
  return { object: "fine_tuning.job.event", level: "info", type: "message", data: null, ...fields };
}
