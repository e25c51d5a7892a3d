// What `GET /v1/models` of vLLM lists: its model under each of its names, and the adapters that are loaded.
import { strangeAnswer } from "./vllm-errors.ts";

export interface ListedModel {
  /** By which requests name it. */
  readonly id: string;
  /** Tokens in prompt and answer together; null of adapters. */
  readonly contextLength: number | null;
  /** Of an adapter the model that it belongs to; null of that. */
  readonly parent: string | null;
}

/** @throws ServiceError `unavailable` for another answer */
export function listedModels(answer: unknown): readonly ListedModel[] {
  const data = answer !== null && typeof answer === "object" && "data" in answer ? answer.data : null;
  if (!Array.isArray(data)) throw strangeAnswer("its models");
  return data.map((item: unknown) => {
    if (item === null || typeof item !== "object" || !("id" in item) || typeof item.id !== "string")
      throw strangeAnswer("the name of a model");
    const length = "max_model_len" in item ? item.max_model_len : null;
    const parent = "parent" in item ? item.parent : null;
    return {
      id: item.id,
      contextLength: typeof length === "number" ? length : null,
      parent: typeof parent === "string" ? parent : null,
    };
  });
}
