// Finds the version of another model that a new model starts from.
import type { Caller } from "../../../base/domain/access.ts";
import type { ModelStore, ModelVersion } from "../../../base/domain/model.ts";
import { quoted, ServiceError, type ErrorCode } from "../../../base/domain/service-error.ts";
import type { ModelDirectory } from "./model-directory.ts";
import { parseModelName } from "./model-name.ts";

export interface ForkSource {
  /** Name of the model or version, in any form that chat requests accept in `model`. */
  readonly model: string;
  /** Version to start from; null for the version in the name or, if the name has none, the newest version. */
  readonly step: number | null;
}

export interface ForkSourceDependencies {
  readonly directory: Pick<ModelDirectory, "find">;
  readonly store: Pick<ModelStore, "findVersion">;
}

/**
 * Finds the version that a new model starts from.
 *
 * @param baseModel base model of the new model
 * @throws ServiceError, at `from.model` and `from.step`:
 * - `not_found` and `forbidden` as `ModelDirectory.find`
 * - `invalid` for a base model, and if the name and `step` give different versions
 * - `conflict`, at `baseModel`, for a model that has another base model
 */
export async function findForkSource(
  { directory, store }: ForkSourceDependencies,
  { model, step }: ForkSource,
  { caller, baseModel }: { readonly caller: Caller; readonly baseModel: string },
): Promise<ModelVersion> {
  const found = await directory.find(model, caller).catch((error: unknown) => {
    throw within(error);
  });
  if (found.modelId === null || found.step === null)
    throw refusal(
      "invalid",
      ["from", "model"],
      `${quoted(model)} is a base model; leave \`from\` out to start from it.`,
    );
  if (found.base !== baseModel)
    throw refusal(
      "conflict",
      ["baseModel"],
      `The model ${quoted(model)} is over the base model ${quoted(found.base)}, not ${quoted(baseModel)}; a model that starts from it has the same base.`,
    );
  const named = parseModelName(model)?.version;
  if (step !== null && typeof named === "number" && named !== step)
    throw refusal(
      "invalid",
      ["from", "step"],
      `The name says step ${named}, and \`from.step\` is ${step}; leave one out.`,
    );
  const version = await store.findVersion(found.modelId, step ?? found.step);
  if (version !== null) return version;
  throw refusal(
    "not_found",
    ["from", "step"],
    `The model ${quoted(model)} has no version ${step ?? found.step}.`,
  );
}

/** Locates an error of the directory at the field `from.model` instead of `model`. */
function within(error: unknown): unknown {
  if (!(error instanceof ServiceError)) return error;
  const { code, message, cause } = error;
  const faults = error.faults.map((fault) => ({ ...fault, location: ["from", ...fault.location] }));
  return new ServiceError({ code, message, faults, cause });
}

function refusal(code: ErrorCode, location: readonly string[], message: string): ServiceError {
  return new ServiceError({ code, message, faults: [{ location, message, type: "value_error" }] });
}
