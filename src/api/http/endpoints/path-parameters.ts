// The parameters of paths, each described once: what documents say of it, and how its text is read.
import { isUuid } from "../../../base/domain/random.ts";
import { notFound } from "../../../base/domain/service-error.ts";
import { fileIdOf } from "../../wire/files/file-url.ts";

export interface PathParameter {
  readonly description: string;
  /** Returns the text in its one spelling. @throws ServiceError `not_found` for what can name nothing */
  readonly read?: (text: string) => string;
}

export const pathParameters = {
  entity: { description: "The entity's name." },
  file_id: { description: "The file's id.", read: (text) => fileIdOf(text) ?? text },
  item_id: { description: "The item's id." },
  job_id: { description: "The job's id." },
  key_id: { description: "The key's id." },
  model_id: { description: "The model's id." },
  number: { description: "The `id` that the outlines name it by." },
  project: { description: "The project." },
  queue_id: { description: "The queue's id." },
  request_id: { description: "The request's id, with or without `chatcmpl-` before it." },
  rule_id: { description: "The rule's id." },
  step: { description: "The version's step." },
  webhook_id: { description: "The webhook's id.", read: uuidOf("webhook") },
} as const satisfies Readonly<Record<string, PathParameter>>;

export type PathParameterName = keyof typeof pathParameters;

function uuidOf(what: string): (text: string) => string {
  return (text) => {
    if (isUuid(text)) return text.toLowerCase();
    throw notFound(what, text);
  };
}
