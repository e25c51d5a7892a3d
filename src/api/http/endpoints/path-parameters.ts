// Path parameters, each with its description and its parser.
import { isUuid } from "../../../base/domain/random.ts";
import { notFound } from "../../../base/domain/service-error.ts";
import { fileIdOf } from "../../wire/files/file-url.ts";

export interface PathParameter {
  readonly description: string;
  /**
   * Returns the parameter in normalized form.
   *
   * @throws ServiceError `not_found` for a text that cannot be the id of an object of this kind
   */
  readonly read?: (text: string) => string;
}

export const pathParameters = {
  base_model: { description: "Name of the base model, with `/` written as `%2F`." },
  checkpoint: { description: "Name of the saved weights." },
  entity: { description: "Name of the entity." },
  file_name: { description: "Name of the file." },
  file_id: { description: "Id of the file.", read: (text) => fileIdOf(text) ?? text },
  fine_tuning_job_id: { description: "Id of the fine-tuning job." },
  item_id: { description: "Id of the item." },
  job_id: { description: "Id of the job." },
  kind: { description: "Kind of the saved weights: `weights`, `sampler_weights` or `external_weights`." },
  link_secret: { description: "Secret part of the link." },
  key_id: { description: "Id of the key." },
  model_id: { description: "Id of the model." },
  number: { description: "The `id` that the trajectory has in the list of summaries." },
  project: { description: "Name of the project." },
  queue_id: { description: "Id of the queue." },
  request_id: { description: "Id of the request, with or without the prefix `chatcmpl-`." },
  rollout_id: { description: "Id of the rollout.", read: uuidOf("rollout") },
  rule_id: { description: "Id of the rule." },
  run_id: { description: "Id of the training run." },
  sampler_id: { description: "Id of the sampling session." },
  session_id: { description: "Id of the session." },
  step: { description: "Number of the version." },
  upload_id: { description: "Id of the upload." },
  webhook_id: { description: "Id of the webhook.", read: uuidOf("webhook") },
} as const satisfies Readonly<Record<string, PathParameter>>;

export type PathParameterName = keyof typeof pathParameters;

function uuidOf(what: string): (text: string) => string {
  return (text) => {
    if (isUuid(text)) return text.toLowerCase();
    throw notFound(what, text);
  };
}
