// List of models in the form of Anthropic's API, for clients that send the header `anthropic-version`.
import { Type, type Static } from "typebox";
import { ServiceError } from "../../../base/domain/service-error.ts";

/** A model name in the list, with its properties. */
export interface NamedModel {
  readonly id: string;
  readonly createdAt: Date;
  /** Maximum number of tokens in prompt and answer together; null if this server does not have the base model. */
  readonly contextLength: number | null;
}

export const modelListQuerySchema = Type.Object({
  after_id: Type.Optional(
    Type.String({ description: "Only in Anthropic's form: the page begins after this model." }),
  ),
  before_id: Type.Optional(
    Type.String({ description: "Only in Anthropic's form: the page ends before this model." }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      description:
        "Maximum number of names. The default is 20 in Anthropic's form, and no limit in OpenAI's.",
    }),
  ),
  search: Type.Optional(
    Type.String({
      maxLength: 400,
      description:
        "Only names that contain this text; the letters A to Z match in either case. A text without a colon finds base models and trained models, the newest first; a text with a colon, such as `agent:step`, finds versions.",
    }),
  ),
});

export function modelInfo({ id, createdAt, contextLength }: NamedModel): object {
  return {
    type: "model",
    id,
    display_name: id,
    created_at: createdAt.toISOString(),
    max_input_tokens: contextLength,
    max_tokens: contextLength,
    capabilities: null,
    lifecycle: "active",
    deprecated_at: null,
    retires_at: null,
    line: null,
  };
}

/**
 * Returns a page of the list of models.
 *
 * @throws ServiceError `invalid` if `after_id` or `before_id` is not in the list
 */
export function modelInfoPage(
  models: readonly NamedModel[],
  { after_id: after, before_id: before, limit = 20 }: Static<typeof modelListQuerySchema>,
): object {
  const start = after === undefined ? 0 : placeOf(models, after, "after_id") + 1;
  const end = before === undefined ? models.length : placeOf(models, before, "before_id");
  // With only `before_id`, the page contains the models directly before that model instead of the first ones of the
  // list.
  const isBackward = before !== undefined && after === undefined;
  const first = isBackward ? Math.max(start, end - limit) : start;
  const page = models.slice(first, isBackward ? end : Math.min(end, first + limit));
  return {
    data: page.map(modelInfo),
    has_more: page.length < end - start,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  };
}

function placeOf(models: readonly NamedModel[], id: string, parameter: string): number {
  const place = models.findIndex((model) => model.id === id);
  if (place >= 0) return place;
  const message = "The list has no such model to continue from; start again without it.";
  const location = ["query", parameter];
  throw new ServiceError({ code: "invalid", faults: [{ location, message, type: "value_error" }] });
}
