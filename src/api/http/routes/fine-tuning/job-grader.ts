// Reads the grader of a reinforcement job, and checks what can be checked before the job runs.
import type { FastifyRequest } from "fastify";
import type { Caller } from "../../../../base/domain/access.ts";
import type { FineTuningOrder } from "../../../../base/domain/fine-tuning/fine-tuning-job.ts";
import { type Grader, modelsOf, needsEmbeddings } from "../../../../base/domain/fine-tuning/grader.ts";
import { ServiceError } from "../../../../base/domain/service-error.ts";
import type { JsonObject } from "../../../../base/domain/text/json.ts";
import { reinforcementStepsMax } from "../../../../train/fine-tuning/settings.ts";
import { stepCountOf } from "../../../../train/fine-tuning/step-items.ts";
import { locate } from "../../../wire/field-paths.ts";
import type { SentFineTuningJob } from "../../../wire/fine-tuning/create-job.ts";
import { readGrader } from "../../../wire/fine-tuning/read-grader.ts";
import { usedModels } from "../../ask-model.ts";
import type { HttpDependencies } from "../../dependencies.ts";

const place = ["method", "reinforcement", "grader"];

/**
 * Returns the grader and the response format of a job; both are null unless the method is reinforcement.
 *
 * @throws ServiceError also for a judging model that the caller may not use, and for a metric that needs embeddings if
 * the default model offers none
 */
export async function graderOf(
  { method }: SentFineTuningJob,
  { caller }: FastifyRequest,
  dependencies: HttpDependencies,
): Promise<Pick<FineTuningOrder, "grader" | "responseFormat">> {
  const settings = method?.type === "reinforcement" ? (method.reinforcement ?? null) : null;
  if (settings === null) return { grader: null, responseFormat: null };
  const grader = readGrader(settings.grader, place);
  await requireModels(grader, place, caller, dependencies.directory);
  if (needsEmbeddings(grader)) await requireEmbeddings(caller, dependencies);
  // Safe casts: parsed from JSON.
  return {
    grader: settings.grader as JsonObject,
    responseFormat: (settings.response_format ?? null) as JsonObject | null,
  };
}

/**
 * Refuses a grader that asks a model which the caller may not use.
 *
 * @param path path of the grader in the body
 */
export async function requireModels(
  grader: Grader,
  path: readonly string[],
  caller: Caller,
  directory: HttpDependencies["directory"],
): Promise<void> {
  const at = ["body", ...path, "model"];
  for (const model of modelsOf(grader))
    await directory.find(model, caller).catch((error: unknown) => {
      throw locate(error, { model: at, not_found: at, forbidden: at });
    });
}

/** Embeds a short text, so that a model without embeddings is noticed before the job samples answers. */
async function requireEmbeddings(caller: Caller, dependencies: HttpDependencies): Promise<void> {
  const { signal } = new AbortController();
  await usedModels(dependencies, caller)
    .embed(["a"], { signal })
    .catch((error: unknown) => {
      throw locate(error, { model: ["body", ...place] });
    });
}

/** Refuses a reinforcement job that would take more steps than one job may. */
export function refuseManySteps(order: FineTuningOrder): void {
  if (order.method !== "reinforcement") return;
  const count = stepCountOf(order);
  if (count <= reinforcementStepsMax) return;
  const message = `The job would take ${count} steps; at most ${reinforcementStepsMax} are allowed. Raise batch_size, or lower n_epochs.`;
  const location = ["body", "method", "reinforcement", "hyperparameters", "batch_size"];
  throw new ServiceError({ code: "invalid", faults: [{ location, message, type: "value_error" }] });
}
