// Requests for embeddings in Ollama's API and the answers to them: `/api/embed`, and the older `/api/embeddings` for a
// single text.
import { Type } from "typebox";
import type { Embeddings } from "../../../base/domain/text/embedding.ts";
import { type BodyForm, readForm } from "../body.ts";
import { omitUndefined } from "../chat/shared-fields.ts";
import { readEmbedding, type ReadEmbedding } from "../embeddings/embedding-request.ts";
import { vectorText } from "../embeddings/embedding-response.ts";
import { field, schemaOf, type ValuesOf } from "../fields/field.ts";
import { relocate } from "../field-paths.ts";
import { JsonText, type TakeBytes } from "../json-text.ts";
import { nullable } from "../nullable.ts";
import { commonFields, keepAliveField } from "./common-fields.ts";
import { optionNotices, optionsSchema } from "./options.ts";

const sharedFields = {
  model: commonFields.model,
  options: field(null, nullable(optionsSchema), {
    about: "Accepted without effect, because embeddings involve no sampling.",
    otherwise: "none",
    example: { num_ctx: 2048 },
  }),
  keep_alive: keepAliveField(),
};

const embedFields = {
  ...sharedFields,
  input: field(
    "read",
    Type.Union([Type.String({ title: "str" }), Type.Array(Type.String(), { title: "list" })]),
    {
      about: "Text to embed, or a list of texts.",
      range:
        "at most 2,048 texts, none empty or longer than the model's context, and 300,000 tokens in total",
      example: ["Why is the sky blue?"],
    },
  ),
  dimensions: field("read", nullable(Type.Integer({ minimum: 0 })), {
    about:
      "Number of dimensions to return: each embedding is cut to this many leading values and rescaled to length 1. 0 returns all.",
    otherwise: "all",
    range: "at most the model's width",
    example: 64,
  }),
  truncate: field(null, nullable(Type.Boolean()), {
    about: "Accepted without effect: a text that is longer than the model's context is always refused.",
    default: false,
  }),
};

const embeddingsFields = {
  ...sharedFields,
  prompt: field("read", Type.String(), { about: "Text to embed.", example: "Why is the sky blue?" }),
};

const embedSchema = schemaOf("OllamaEmbedRequest", embedFields);
const embeddingsSchema = schemaOf("OllamaEmbeddingsRequest", embeddingsFields);

export const embedForm: BodyForm<typeof embedSchema> = { schema: embedSchema };
export const embeddingsForm: BodyForm<typeof embeddingsSchema> = { schema: embeddingsSchema };

export interface ReadOllamaEmbed extends ReadEmbedding {
  readonly notices: readonly string[];
}

/**
 * Reads a body of `/api/embed`.
 *
 * @throws ServiceError `invalid` with every fault
 */
export function readOllamaEmbed(value: unknown): ReadOllamaEmbed {
  const { value: body, ignored } = readForm(embedForm, value);
  return converted(body, body.input, { ignored, dimensions: body.dimensions });
}

/**
 * Reads a body of `/api/embeddings`.
 *
 * @throws ServiceError `invalid` with every fault
 */
export function readOllamaEmbeddings(value: unknown): ReadOllamaEmbed {
  const { value: body, ignored } = readForm(embeddingsForm, value);
  try {
    return converted(body, body.prompt, { ignored });
  } catch (error) {
    throw toPrompt(error);
  }
}

/**
 * Returns the error with faults at `prompt` instead of `input`, since `/api/embeddings` has the field under this name.
 */
export function toPrompt(error: unknown): unknown {
  return relocate(error, ([part = "", name, ...rest]) =>
    name === "input" ? [part, "prompt"] : [part, ...(name === undefined ? [] : [name, ...rest])],
  );
}

function converted(
  { model, options }: Pick<ValuesOf<typeof embedFields>, "model" | "options">,
  input: string | readonly string[],
  {
    ignored,
    dimensions,
  }: { readonly ignored: readonly string[]; readonly dimensions?: number | null | undefined },
): ReadOllamaEmbed {
  const size = dimensions === 0 ? null : dimensions;
  const read = readEmbedding(omitUndefined({ model, input, dimensions: size }));
  return { ...read, ignored, notices: optionNotices({ ...options }) };
}

export const embedAnswerSchema = Type.Object(
  {
    model: Type.String({ description: "Name of the model as the request gave it." }),
    embeddings: Type.Array(Type.Array(Type.Number()), {
      description: "One vector of length 1 per text, in the order of the texts.",
    }),
    total_duration: Type.Integer({ minimum: 0, description: "Time for the request in nanoseconds." }),
    prompt_eval_count: Type.Integer({ minimum: 0, description: "Number of tokens of all texts." }),
  },
  { title: "OllamaEmbedAnswer" },
);

export const embeddingsAnswerSchema = Type.Object(
  { embedding: Type.Array(Type.Number(), { description: "Vector of length 1." }) },
  { title: "OllamaEmbeddingsAnswer" },
);

/**
 * Returns the vectors as JSON.
 *
 * @param take called with the number of bytes of memory that the answer adds; errors that it throws are not caught
 */
export function vectorsOf({ embeddings }: Embeddings, take: TakeBytes): readonly JsonText[] {
  return embeddings.map((values) => {
    take(values.byteLength);
    return new JsonText(() => vectorText(values));
  });
}
