// API format of a request that creates a preference job. The preferences are in the body, or in a file that is stored
// on this server.
import { Type } from "typebox";
import type { PreferenceConfig } from "../../../base/domain/preferences/preference-config.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { isAtFaultLimit, isObject, report, type Findings } from "../../../base/validation/findings.ts";
import { parseListBody, type ListBody } from "../../../base/validation/list-body.ts";
import type { BodyLimits } from "../body-limits.ts";
import { readForm, type BodyForm } from "../body.ts";
import { nullable } from "../nullable.ts";
import {
  checkPreferenceConfig,
  preferenceConfigForm,
  preferenceKeysNotApplied,
  toPreferenceConfig,
} from "./preference-config.ts";
import { preferenceSchema } from "./preference-schema.ts";
import { PreferenceReader, type StoredPreferences } from "./preferences.ts";

const creationSchema = Type.Object(
  {
    model_id: Type.String({
      format: "uuid",
      description:
        "Id of the model to train. Send this field first, so that the server can check the model before it reads the data.",
    }),
    pairs: nullable(Type.Array(preferenceSchema), {
      description:
        "Preferences to train on: prompts with a chosen and a rejected answer; with the loss kto, also prompts with a single answer. Give either pairs or file_id.",
    }),
    file_id: nullable(Type.String({ minLength: 1, maxLength: 2048 }), {
      description:
        "File to train on, with one preference per line: the id of a file uploaded to this server, `hone-file://<id>`, or the file's URL on this server. With `hone-job://<id>`, the job trains on the stored data of an earlier job of the same kind.",
    }),
    config: nullable(preferenceConfigForm, {
      description: "Settings of the job; settings that are omitted get their defaults.",
    }),
  },
  { title: "PreferenceJobCreate" },
);

export const preferenceJobForm: BodyForm<typeof creationSchema> = {
  schema: creationSchema,
  more: ({ pairs, file_id: fileId, config }, findings) => {
    checkPreferenceConfig(config, findings);
    const given = [pairs, fileId].filter((source) => (source ?? null) !== null).length;
    if (given === 1) return;
    const message =
      given === 0
        ? "Field required: give the pairs here, or a file of them in file_id."
        : "Value error, there are pairs here and in file_id; give one of the two.";
    report(findings, given === 0 ? "missing" : "value_error", message, "pairs");
  },
};

export interface ReadPreferenceJob extends StoredPreferences {
  readonly modelId: string;
  /** Id or URL of the file with the preferences; null if they are in the body. */
  readonly fileUrl: string | null;
  readonly config: PreferenceConfig;
  readonly configNotApplied: readonly string[];
  readonly ignored: readonly string[];
}

/**
 * Reads the body of a request that creates a preference job.
 *
 * @throws ServiceError `invalid` with every fault
 */
export function readPreferenceJob(bytes: Buffer, limits: BodyLimits): ReadPreferenceJob {
  const { trajectoryGroups: countMax, trajectoryJson } = limits;
  const list = parseListBody(bytes, { member: "pairs", itemsMax: countMax }, trajectoryJson);
  let stored: StoredPreferences = { lines: [], preferenceCount: 0, firstSingle: null };
  const { value: body, ignored } = readForm(preferenceJobForm, list.rest, (findings) => {
    stored = readInline(list, findings, countMax);
  });
  const config = body.config ?? {};
  return {
    modelId: body.model_id.toLowerCase(),
    ...stored,
    fileUrl: body.file_id ?? null,
    config: toPreferenceConfig(config),
    configNotApplied: preferenceKeysNotApplied(config),
    ignored,
  };
}

function readInline(
  { rest, items, itemCount }: ListBody,
  findings: Findings,
  countMax: number,
): StoredPreferences {
  const reader = new PreferenceReader(findings, { takesSingles: takesSingles(rest) });
  const isGiven = isObject(rest) && Array.isArray(rest["pairs"]);
  if (itemCount > countMax) {
    const message = `The list has ${itemCount} pairs; at most ${countMax} are allowed at a time. Send them in several jobs.`;
    report(findings, "too_long", message, "pairs");
    return reader.stored;
  }
  if (itemCount === 0 && isGiven)
    report(findings, "too_short", "The list is empty; give at least one pair.", "pairs");
  let index = 0;
  for (const item of items) {
    reader.read(item, "pairs", String(index++));
    if (isAtFaultLimit(findings)) break;
  }
  return reader.stored;
}

/** True if a body selects the loss KTO, which accepts single answers. The body may be unchecked. */
function takesSingles(body: unknown): boolean {
  const config = isObject(body) ? body["config"] : null;
  return isObject(config) && config["loss"] === "kto";
}

/**
 * Refuses a file with a single answer if the loss compares two answers.
 *
 * @throws ServiceError `invalid` with the first preference that has only one answer
 */
export function requirePairs(
  { loss }: Pick<PreferenceConfig, "loss">,
  { firstSingle }: Pick<StoredPreferences, "firstSingle">,
): void {
  if (loss === "kto" || firstSingle === null) return;
  const message =
    `Line ${firstSingle + 1} of the file has only one answer, and the loss ${loss} compares two. Give both, or train with ` +
    "the loss kto, which judges each by itself.";
  throw new ServiceError({
    code: "invalid",
    faults: [{ location: ["body", "file_id"], message, type: "value_error" }],
  });
}
