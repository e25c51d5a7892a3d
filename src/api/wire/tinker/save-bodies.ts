// Bodies of the Tinker API's routes that save and load weights, and that create sampling sessions.
import { Type } from "typebox";
import type { SaveRequest } from "../../../train/sessions/session-requests.ts";
import { isSavedName } from "../../../train/sessions/run-names.ts";
import { report } from "../../../base/validation/findings.ts";
import { is, type BodyForm, type MoreChecks, type ValueOf } from "../body.ts";
import { anyObject } from "../fields/any-object.ts";
import { nullable } from "../nullable.ts";
import { optimizerSchema, modelIdField, modelSeqField, samplerSeqField, seqIdField } from "./model-bodies.ts";
import { typeField } from "./session-bodies.ts";

/** Bounds of the time in seconds for which a checkpoint is kept, as in the client: one hour to ten years. */
export const lifeField = nullable(Type.Integer({ minimum: 3600, maximum: 315_360_000 }), {
  description: "Seconds after which the weights are deleted; absent to keep them.",
});
const nameField = nullable(Type.String({ minLength: 1, maxLength: 255 }), {
  description: "Name of the weights: letters, digits, `_`, `-` and `.`.",
});
const metadataField = nullable(
  Type.Object({}, { additionalProperties: Type.String({ maxLength: 4096 }), maxProperties: 64 }),
  {
    description: "Texts that are stored with the weights.",
  },
);
const path = Type.String({
  maxLength: 1024,
  description: "Path of saved weights, such as `tinker://<run>/weights/<name>`.",
});

const checkName: MoreChecks = ({ path: name }, findings) => {
  if (typeof name !== "string" || isSavedName(name)) return;
  report(findings, "value_error", "Value error, a name has letters, digits, _, - and . only", "path");
};

const saved = {
  model_id: modelIdField,
  seq_id: seqIdField,
  ttl_seconds: lifeField,
  user_metadata: metadataField,
};
const saveSchema = Type.Object(
  {
    ...saved,
    path: Type.String({ minLength: 1, maxLength: 255, description: "Name of the weights." }),
    overwrite: Type.Optional(Type.Boolean({ description: "True to replace weights of this name." })),
    type: typeField,
  },
  { title: "TinkerSaveWeights" },
);
export const saveForm: BodyForm<typeof saveSchema> = { schema: saveSchema, more: checkName };

const externalSchema = Type.Object(
  {
    model_id: modelIdField,
    seq_id: seqIdField,
    ttl_seconds: lifeField,
    path: Type.String({ minLength: 1, maxLength: 255, description: "Name of the weights." }),
    age_encryption_recipients: nullable(Type.Array(Type.String()), { description: "Not supported." }),
    type: typeField,
  },
  { title: "TinkerSaveWeightsExternal" },
);
export const saveExternalForm: BodyForm<typeof externalSchema> = {
  schema: externalSchema,
  fields: {
    age_encryption_recipients: {
      refusedUnless: (value) => Array.isArray(value) && value.length === 0,
      cure: "save without it, and encrypt the files after the download",
    },
  },
  more: checkName,
};

const samplerSchema = Type.Object(
  {
    ...saved,
    path: nameField,
    sampling_session_seq_id: nullable(samplerSeqField, {
      description: "Number of the sampling client in its session.",
    }),
    kind: Type.Optional(Type.String({ description: "Only `snapshot` is supported." })),
    type: typeField,
  },
  { title: "TinkerSaveWeightsForSampler" },
);
export const saveForSamplerForm: BodyForm<typeof samplerSchema> = {
  schema: samplerSchema,
  fields: { kind: { refusedUnless: is("snapshot"), cure: "save a snapshot and sample from that" } },
  more: (body, findings) => {
    checkName(body, findings);
    if (typeof body["path"] === "string" || typeof body["sampling_session_seq_id"] === "number") return;
    report(findings, "missing", "Give a path, or a sampling_session_seq_id", "path");
  },
};

type Saved = Partial<ValueOf<typeof samplerSchema>> & Pick<Partial<ValueOf<typeof saveSchema>>, "overwrite">;

export function saveRequest(kind: SaveRequest["kind"], body: Omit<Saved, "kind">): SaveRequest {
  const { path: name, ttl_seconds: seconds, overwrite = false, user_metadata: metadata } = body;
  return {
    kind,
    name: name ?? null,
    samplerSeqId: body.sampling_session_seq_id ?? null,
    lifeMs: seconds === null || seconds === undefined ? null : seconds * 1000,
    overwrites: overwrite,
    // Safe cast: the schema allows only texts as values.
    metadata: (metadata ?? null) as SaveRequest["metadata"],
  };
}

const loadSchema = Type.Object(
  {
    model_id: nullable(modelIdField, { description: "Id of the model in training." }),
    seq_id: seqIdField,
    session_id: nullable(Type.String(), {
      description: "Id of the session, to create a model from the weights.",
    }),
    model_seq_id: nullable(modelSeqField, { description: "Number of the model in its session." }),
    base_model: nullable(Type.String(), { description: "Another base model; not supported." }),
    user_metadata: nullable(anyObject, { description: "Metadata; not stored." }),
    path,
    optimizer: Type.Boolean({ description: "True to load the state of the optimizer, too." }),
    optimizer_config: nullable(optimizerSchema, { description: "Optimizer; only `adamw` is supported." }),
    weights_access_token: nullable(Type.String(), { description: "Key of another account; not supported." }),
    type: typeField,
  },
  { title: "TinkerLoadWeights" },
);
export const loadForm: BodyForm<typeof loadSchema> = {
  schema: loadSchema,
  fields: {
    base_model: { refusedUnless: () => false },
    weights_access_token: { refusedUnless: () => false },
    optimizer_config: {
      refusedUnless: (value) => (value as { readonly type?: unknown }).type === "adamw",
      cure: "this server has only adamw",
    },
  },
  more: ({ model_id: model, session_id: session, model_seq_id: seq }, findings) => {
    const isNew = typeof session === "string" && typeof seq === "number";
    if ((typeof model === "string") !== isNew) return;
    report(findings, "missing", "Give either model_id, or session_id and model_seq_id", "model_id");
  },
};

const samplingSchema = Type.Object(
  {
    session_id: Type.String({ description: "Id of the session." }),
    sampling_session_seq_id: samplerSeqField,
    base_model: nullable(Type.String({ maxLength: 256 }), { description: "Name of a base model." }),
    model_path: nullable(path, { description: "Path of saved weights." }),
    type: typeField,
  },
  { title: "TinkerCreateSamplingSession" },
);
export const samplingSessionForm: BodyForm<typeof samplingSchema> = {
  schema: samplingSchema,
  more: ({ base_model: base, model_path: from }, findings) => {
    if (typeof base === "string" || typeof from === "string") return;
    report(findings, "missing", "Give base_model or model_path", "base_model");
  },
};
export const samplingSessionSchema = Type.Object({
  type: Type.String(),
  sampling_session_id: Type.String({ description: "Id of the sampling session." }),
});
export const samplerAnswerSchema = Type.Object({
  sampler_id: Type.String({ description: "Id of the sampling session." }),
  base_model: Type.String({ description: "Name of the base model." }),
  model_path: Type.Union([Type.String(), Type.Null()], {
    description: "Path of the weights; null for none.",
  }),
});
