// API format of a request that creates a supervised job. The conversations are in the body, or in a file that is stored
// on this server.
import { Type } from "typebox";
import {
  type AssistantTurns,
  batchCountOf,
  type SupervisedConfig,
} from "../../../base/domain/supervised/supervised-config.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { isAtFaultLimit, isObject, report, type Findings } from "../../../base/validation/findings.ts";
import { parseListBody, type ListBody } from "../../../base/validation/list-body.ts";
import type { BodyLimits } from "../body-limits.ts";
import { readForm, type BodyForm } from "../body.ts";
import { nullable } from "../nullable.ts";
import { conversationSchema, ConversationReader, type StoredConversations } from "./conversations.ts";
import { foreignOptions, refuseForeign } from "../training/foreign-options.ts";
import {
  checkSupervisedConfig,
  supervisedConfigFields,
  supervisedConfigForm,
  toSupervisedConfig,
} from "./supervised-config.ts";

const creationSchema = Type.Object(
  {
    model_id: Type.String({
      format: "uuid",
      description:
        "Id of the model to train. Send this field first, so that the server can check the model before it reads the data.",
    }),
    training_data: nullable(Type.Array(conversationSchema), {
      description: "Conversations to train on. Give either training_data or training_data_url.",
    }),
    training_data_url: nullable(Type.String({ minLength: 1, maxLength: 2048 }), {
      description:
        "File to train on, with one conversation per line: the id of a file uploaded to this server, `hone-file://<id>`, or the file's URL on this server. With `hone-job://<id>`, the job trains on the stored data of an earlier job of the same kind.",
    }),
    config: nullable(supervisedConfigForm, {
      description: "Settings of the job; settings that are omitted get their defaults.",
    }),
    experimental_config: nullable(Type.Object({}, { additionalProperties: true }), {
      description: "Accepted without effect; the job's `config_not_applied` lists its members.",
    }),
  },
  { title: "SupervisedJobCreate" },
);

export const supervisedJobForm: BodyForm<typeof creationSchema> = {
  schema: creationSchema,
  more: ({ training_data: inline, training_data_url: url, config, experimental_config: more }, findings) => {
    checkSupervisedConfig(config, findings);
    refuseForeign(more, foreignOptions.sft, findings, { place: "experimental_config" });
    const given = [inline, url].filter((source) => (source ?? null) !== null).length;
    if (given === 1) return;
    const message =
      given === 0
        ? "Field required: give the conversations here, or a file of them in training_data_url."
        : "Value error, there are conversations here and in training_data_url; give one of the two.";
    report(findings, given === 0 ? "missing" : "value_error", message, "training_data");
  },
};

export interface ReadSupervisedJob extends StoredConversations {
  readonly modelId: string;
  /** URL of the file with the conversations; null if they are in the body. */
  readonly fileUrl: string | null;
  readonly config: SupervisedConfig;
  readonly configNotApplied: readonly string[];
  readonly ignored: readonly string[];
}

/**
 * Reads the body of a request that creates a supervised job.
 *
 * @throws ServiceError `invalid` with every fault
 */
export function readSupervisedJob(bytes: Buffer, limits: BodyLimits): ReadSupervisedJob {
  const { trajectoryGroups: countMax, trajectoryJson } = limits;
  const list = parseListBody(bytes, { member: "training_data", itemsMax: countMax }, trajectoryJson);
  let stored: StoredConversations = { lines: [], conversationCount: 0 };
  const { value: body, ignored } = readForm(supervisedJobForm, list.rest, (findings) => {
    stored = readInline(list, findings, countMax);
  });
  const fileUrl = body.training_data_url ?? null;
  const config = toSupervisedConfig(body.config ?? {});
  if (fileUrl === null) requireRates(config, stored.conversationCount);
  const unknown = Object.keys(body.config ?? {}).filter((key) => !supervisedConfigFields.includes(key));
  const configNotApplied = [...unknown, ...Object.keys(body.experimental_config ?? {})];
  return {
    modelId: body.model_id.toLowerCase(),
    ...stored,
    fileUrl,
    config,
    configNotApplied,
    ignored,
  };
}

function readInline(
  { rest, items, itemCount }: ListBody,
  findings: Findings,
  countMax: number,
): StoredConversations {
  const reader = new ConversationReader(findings, assistantTurnsOf(rest));
  const isGiven = isObject(rest) && Array.isArray(rest["training_data"]);
  if (itemCount > countMax) {
    const message = `The list has ${itemCount} conversations; at most ${countMax} are allowed at a time. Send them in several jobs.`;
    report(findings, "too_long", message, "training_data");
    return reader.stored;
  }
  if (itemCount === 0 && isGiven) {
    report(findings, "too_short", "The list is empty; give at least one conversation.", "training_data");
  }
  let index = 0;
  for (const item of items) {
    reader.read(item, "training_data", String(index++));
    if (isAtFaultLimit(findings)) break;
  }
  return reader.stored;
}

/** Returns which of the assistant's turns a job would train, according to its body. The body may be unchecked. */
function assistantTurnsOf(body: unknown): AssistantTurns {
  const config = isObject(body) ? body["config"] : null;
  return isObject(config) && config["assistant_turns"] === "last" ? "last" : "all";
}

/**
 * Refuses a list of learning rates with a wrong length.
 *
 * @throws ServiceError `invalid` unless the list has one rate for each batch
 */
export function requireRates(config: SupervisedConfig, conversationCount: number): void {
  const { learningRate } = config;
  if (typeof learningRate === "number") return;
  const batchCount = batchCountOf(config, conversationCount);
  if (learningRate.length === batchCount) return;
  const { batchSize, epochCount } = config;
  const message =
    `The list has ${learningRate.length} learning rates, and ${conversationCount} conversations in batches of ` +
    `${batchSize}, ${epochCount} times, make ${batchCount} batches. Give one for each batch, or a single number.`;
  const location = ["body", "config", "learning_rate"];
  throw new ServiceError({
    code: "invalid",
    message: `config.learning_rate: ${message}`,
    faults: [{ location, message, type: "value_error" }],
  });
}
