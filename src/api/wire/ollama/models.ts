// Lists and descriptions of models in Ollama's API.
import { createHash } from "node:crypto";
import { Type } from "typebox";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { BodyForm } from "../body.ts";
import { anyObject } from "../fields/any-object.ts";
import { commonFields } from "./common-fields.ts";
import { field, schemaOf, type ValuesOf } from "../fields/field.ts";
import type { ListedBase } from "../models/served-model.ts";
import { nullable } from "../nullable.ts";

/** A model in a list of Ollama's API. */
export interface ListedModel {
  readonly name: string;
  readonly modifiedAt: Date;
  /** Base model of the model; null if this server does not have it. */
  readonly base: ListedBase | null;
  /** Version of a trained model; null for a base model. */
  readonly version: { readonly modelId: string; readonly step: number } | null;
}

const size = (description: string) => Type.Integer({ minimum: 0, description });

const detailsSchema = Type.Object(
  {
    parent_model: Type.String({ description: "Name of the base model of a trained model; otherwise empty." }),
    format: Type.String({ description: "Format of the base model's weights: `gguf` or `safetensors`." }),
    family: Type.String({ description: "Architecture of the base model, such as `llama`." }),
    families: Type.Array(Type.String()),
    parameter_size: Type.String({ description: "Number of the base model's parameters, such as `134.52M`." }),
    quantization_level: Type.String({ description: "Precision in which the base model is computed." }),
    context_length: size("Maximum number of tokens of prompt and answer together."),
    embedding_length: size("Number of dimensions of an embedding."),
  },
  { title: "OllamaModelDetails" },
);

const listed = {
  name: Type.String({ description: "Name to send as `model` in requests." }),
  model: Type.String({ description: "The same as `name`." }),
  size: size("Size of the base model's weights on disk in bytes; in a list of loaded models, its memory."),
  digest: Type.String({
    description:
      "Hash that identifies the model: of the weights of a base model if it is known, otherwise of the name or the version.",
  }),
  details: detailsSchema,
};

const capabilities = Type.Array(Type.Enum(["completion", "tools", "thinking"]), {
  description: "Abilities of the model.",
});

export const tagsSchema = Type.Object(
  {
    models: Type.Array(
      Type.Object({
        ...listed,
        capabilities,
        modified_at: Type.String({ description: "Time in ISO 8601." }),
      }),
    ),
  },
  { title: "OllamaTags" },
);

export const processesSchema = Type.Object(
  {
    models: Type.Array(
      Type.Object({
        ...listed,
        size_vram: size("Memory of the graphics processor that the model takes."),
        context_length: size("Maximum number of tokens of prompt and answer together."),
      }),
    ),
  },
  { title: "OllamaProcesses" },
);

export const descriptionSchema = Type.Object(
  {
    license: Type.Optional(Type.String()),
    details: detailsSchema,
    model_info: anyObject,
    capabilities,
    modified_at: Type.String({ description: "Time in ISO 8601." }),
  },
  { title: "OllamaModelDescription" },
);

export const nameFields = {
  model: field("read", commonFields.model.schema, { about: "Name of the model.", example: "hone-tiny" }),
  name: field("read", nullable(Type.String()), {
    about: "Older name of `model`.",
    otherwise: "the value of `model`",
    example: "hone-tiny",
  }),
};

const showSchema = schemaOf("OllamaShowRequest", {
  ...nameFields,
  verbose: field(null, nullable(Type.Boolean()), {
    about: "Accepted without effect: descriptions contain neither the vocabulary nor the tensors.",
    default: false,
  }),
});

export const showForm: BodyForm<typeof showSchema> = { schema: showSchema };

/**
 * Returns the name in a request about a model.
 *
 * @throws ServiceError `invalid` if there is none, or it is empty
 */
export function nameIn({ model, name }: ValuesOf<typeof nameFields>): string {
  const given = model ?? name ?? "";
  if (given !== "") return given;
  const message = "The request names no model; send its name.";
  throw new ServiceError({
    code: "invalid",
    faults: [{ location: ["body", "model"], message, type: "missing" }],
  });
}

export function tagBody(model: ListedModel): object {
  return {
    ...listedBody(model, model.base?.files?.weightBytes ?? 0),
    capabilities: capabilitiesOf(model.base),
    modified_at: model.modifiedAt.toISOString(),
  };
}

export function processBody(model: ListedModel): object {
  const { base } = model;
  const bytes = base?.memoryBytes ?? 0;
  return {
    ...listedBody(model, bytes),
    size_vram: base?.device?.device === "webgpu" ? bytes : 0,
    context_length: base?.contextLength ?? 0,
  };
}

export function descriptionBody(model: ListedModel): object {
  const { base, modifiedAt } = model;
  const { files = null, contextLength = null } = base ?? {};
  const architecture = files?.architecture ?? "unknown";
  return {
    ...(files?.license ? { license: files.license } : {}),
    details: detailsOf(model),
    model_info: {
      "general.architecture": architecture,
      "general.parameter_count": files?.size?.parameterCount ?? 0,
      [`${architecture}.context_length`]: contextLength ?? 0,
      [`${architecture}.embedding_length`]: files?.size?.width ?? 0,
    },
    capabilities: capabilitiesOf(base),
    modified_at: modifiedAt.toISOString(),
  };
}

function listedBody(model: ListedModel, bytes: number): object {
  const name = withTag(model.name);
  return { name, model: name, size: bytes, digest: digestOf(model), details: detailsOf(model) };
}

/** Adds the tag `latest` to a name without a version, because Ollama's clients expect a tag in lists. */
function withTag(name: string): string {
  return name.includes(":", name.lastIndexOf("/") + 1) ? name : `${name}:latest`;
}

function digestOf({ name, base, version }: ListedModel): string {
  if (version === null && base?.weightsHash) return base.weightsHash;
  const identity = version === null ? name : `${version.modelId}:step${version.step}`;
  return createHash("sha256").update(identity).digest("hex");
}

function detailsOf({ base, version }: ListedModel): object {
  const files = base?.files ?? null;
  const family = files?.architecture ?? "";
  return {
    parent_model: version === null ? "" : (base?.name ?? ""),
    format: files?.format ?? "",
    family,
    families: family === "" ? [] : [family],
    parameter_size: files?.size ? countText(files.size.parameterCount) : "",
    quantization_level: files?.precision ?? "",
    context_length: base?.contextLength ?? 0,
    embedding_length: files?.size?.width ?? 0,
  };
}

function capabilitiesOf(base: ListedBase | null): readonly string[] {
  const { calls, thoughts } = base?.replies ?? {};
  return [
    "completion",
    ...((calls?.format ?? "off") === "off" ? [] : ["tools"]),
    ...(thoughts?.areRead === true ? ["thinking"] : []),
  ];
}

/** Formats a count like Ollama, such as `134.52M` or `1.7B`. */
function countText(count: number): string {
  const units = [
    [1e9, "B", 1],
    [1e6, "M", 2],
    [1e3, "K", 0],
  ] as const;
  for (const [unit, letter, digits] of units)
    if (count >= unit) return `${Number((count / unit).toFixed(digits))}${letter}`;
  return String(count);
}
