// Reads vLLM's answer to `GET /v1/models`. It lists the model under each of its names, and the loaded adapters.
import { malformedAnswer } from "./vllm-errors.ts";

export interface ListedModel {
  /** Name of the model or adapter in requests. */
  readonly id: string;
  /** Maximum number of tokens in prompt and answer together; null if the entry is an adapter. */
  readonly contextLength: number | null;
  /** Name of the model to which an adapter belongs; null if the entry is the model itself. */
  readonly parent: string | null;
}

/**
 * Reads the list of models.
 *
 * @throws ServiceError `unavailable` for a malformed answer
 */
export function readListedModels(answer: unknown): readonly ListedModel[] {
  const data = answer !== null && typeof answer === "object" && "data" in answer ? answer.data : null;
  if (!Array.isArray(data)) throw malformedAnswer("its models");
  return data.map((item: unknown) => {
    if (item === null || typeof item !== "object" || !("id" in item) || typeof item.id !== "string")
      throw malformedAnswer("the name of a model");
    const length = "max_model_len" in item ? item.max_model_len : null;
    const parent = "parent" in item ? item.parent : null;
    return {
      id: item.id,
      contextLength: typeof length === "number" ? length : null,
      parent: typeof parent === "string" ? parent : null,
    };
  });
}
