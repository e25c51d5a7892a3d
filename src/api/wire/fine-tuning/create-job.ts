// API format of a request that creates a fine-tuning job, as in OpenAI's API.
import { Type, type Static } from "typebox";
import type { FineTuningMethodName } from "../../../base/domain/fine-tuning/fine-tuning-job.ts";
import { isObject, report, type Findings } from "../../../base/validation/findings.ts";
import { isEmpty, type BodyForm } from "../body.ts";
import { nullable } from "../nullable.ts";
import {
  dpoHyperparameters,
  reinforcementHyperparameters,
  supervisedHyperparameters,
  type SentHyperparameters,
} from "./hyperparameters.ts";

/** Maximum number of pairs in the metadata, and maximum lengths of their keys and values in characters. */
export const metadataLimits = { pairs: 16, key: 64, value: 512 };

const open = { additionalProperties: true };
const fileId = Type.String({ minLength: 1, maxLength: 2048 });

const hyperparametersText = { description: "Hyperparameters; those that are absent are `auto`." };

const methodSchema = Type.Object(
  {
    type: Type.Enum(["supervised", "dpo", "reinforcement"], {
      description: "How the model is trained. The settings are in the member with this name.",
    }),
    supervised: nullable(
      Type.Object({ hyperparameters: nullable(supervisedHyperparameters, hyperparametersText) }),
      { description: "Settings of the method `supervised`." },
    ),
    dpo: nullable(Type.Object({ hyperparameters: nullable(dpoHyperparameters, hyperparametersText) }), {
      description: "Settings of the method `dpo`.",
    }),
    reinforcement: nullable(
      Type.Object({
        grader: Type.Object({}, { ...open, description: "Grader of the sampled answers." }),
        response_format: nullable(Type.Object({}, open), {
          description: "Response format of the sampled answers, as in a chat request.",
        }),
        hyperparameters: nullable(reinforcementHyperparameters, hyperparametersText),
      }),
      { description: "Settings of the method `reinforcement`, which requires them." },
    ),
  },
  { title: "FineTuningMethod" },
);

/**
 * Pattern of a valid suffix. The server does not check patterns in the schema, which are only for clients; this module
 * checks the suffix itself.
 */
const suffixPattern = /^[^\s/:%]+$/;

const creationSchema = Type.Object(
  {
    model: Type.String({
      minLength: 1,
      maxLength: 1024,
      description: "Base model, trained model or version to start from. The job makes a model of its own.",
    }),
    training_file: { ...fileId, description: "Id of the uploaded file with the training examples." },
    validation_file: nullable(fileId, {
      description:
        "Id of an uploaded file with examples that the job does not train on. It measures the loss on them, or the reward of a reinforcement job.",
    }),
    method: nullable(methodSchema, { description: "Method of training; supervised by default." }),
    hyperparameters: nullable(supervisedHyperparameters, {
      description: "Older place of the hyperparameters of a supervised job.",
    }),
    suffix: nullable(Type.String({ minLength: 1, maxLength: 64, pattern: suffixPattern.source }), {
      description:
        "Text that becomes part of the model's name, without blanks, slashes, colons and percent signs.",
    }),
    seed: nullable(Type.Integer({ minimum: 0, maximum: 2_147_483_647 }), {
      description: "Seed of the job; the server chooses one by default. Equal jobs give equal models.",
    }),
    metadata: nullable(
      Type.Object(
        {},
        { additionalProperties: Type.String({ maxLength: metadataLimits.value }), title: "Metadata" },
      ),
      { description: "Up to 16 pairs of texts to store with the job." },
    ),
    integrations: nullable(Type.Array(Type.Object({}, open)), {
      description: "Not supported; must be empty.",
    }),
  },
  { title: "FineTuningJobCreate" },
);

export type SentFineTuningJob = Static<typeof creationSchema>;

export const fineTuningJobForm: BodyForm<typeof creationSchema> = {
  schema: creationSchema,
  fields: {
    integrations: {
      refusedUnless: isEmpty,
      cure: "leave it out, and read the metrics from the job's events",
    },
  },
  more: ({ method, metadata, hyperparameters, suffix }, findings) => {
    if (typeof suffix === "string" && suffix !== "" && !suffixPattern.test(suffix))
      report(
        findings,
        "value_error",
        "Value error, suffix may not contain blanks, slashes, colons and percent signs.",
        "suffix",
      );
    if (isObject(metadata)) checkMetadata(metadata, findings);
    if (isObject(method)) {
      checkMethod(method, findings);
      if ((hyperparameters ?? null) !== null)
        report(
          findings,
          "value_error",
          "Value error, give the hyperparameters here or in method, not in both.",
          "hyperparameters",
        );
    }
  },
};

function checkMethod(method: Readonly<Record<string, unknown>>, findings: Findings): void {
  for (const name of ["supervised", "dpo", "reinforcement"])
    if (name !== method["type"] && (method[name] ?? null) !== null)
      report(
        findings,
        "value_error",
        `Value error, method.type is ${JSON.stringify(method["type"])}; leave ${name} out.`,
        "method",
        name,
      );
  if (method["type"] === "reinforcement" && !isObject(method["reinforcement"]))
    report(findings, "missing", "Field required: it has the grader.", "method", "reinforcement");
}

function checkMetadata(metadata: Readonly<Record<string, unknown>>, findings: Findings): void {
  const keys = Object.keys(metadata);
  if (keys.length > metadataLimits.pairs)
    report(
      findings,
      "too_long",
      `There are ${keys.length} pairs; at most ${metadataLimits.pairs} are allowed.`,
      "metadata",
    );
  for (const key of keys)
    if (key.length === 0 || key.length > metadataLimits.key)
      report(
        findings,
        "value_error",
        `A key has ${key.length} characters; 1 to ${metadataLimits.key} are allowed.`,
        "metadata",
        key.slice(0, 80),
      );
}

/** Returns the method of a checked request, and the hyperparameters that it sets. */
export function methodOf({ method, hyperparameters: older }: SentFineTuningJob): {
  readonly name: FineTuningMethodName;
  readonly sent: SentHyperparameters;
} {
  const name = method?.type ?? "supervised";
  const sent = method?.[name]?.hyperparameters ?? older ?? {};
  return { name, sent };
}
