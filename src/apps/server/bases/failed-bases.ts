// Base models that cannot be served: their entries in lists, the error for their requests, and the check that at least
// one base can be served.
import { basename, dirname, resolve, sep } from "node:path";
import type { BaseModel } from "../../../base/domain/model.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { loadFault } from "../../../inference/models/registry/named-base.ts";

/** A base model with missing, broken or unsupported files. Only the next start tries to load it again. */
export interface FailedBase {
  readonly name: string;
  /** The reason as a sentence. */
  readonly reason: string;
}

/** Components of a base that report why it cannot answer. */
interface LoadableBase {
  readonly engine: { readonly loadFault: string | null };
  readonly texts: { readonly fault: string | null };
}

/** @param error error of reading the base's files */
export function failedBase({ name, folder }: Pick<BaseModel, "name" | "folder">, error: unknown): FailedBase {
  const reason = withoutFolders(loadFault(error).message, folder);
  return { name, reason: `The model ${name} could not be loaded: ${reason}` };
}

/** Value of the Retry-After header. It is long because an operator has to act first. */
const retryAfterSeconds = 30;

/** Returns the error for requests to a base that cannot be served. */
export function failedBaseError(reason: string): ServiceError {
  return new ServiceError({
    code: "unavailable",
    obstacle: "unloaded-base",
    message: reason,
    retryAfterSeconds,
  });
}

/** Returns the reasons why bases cannot answer: first those of `bases` in their order, then those of `failed`. */
export function loadFaults(bases: readonly LoadableBase[], failed: readonly FailedBase[]): readonly string[] {
  return [...bases.flatMap((base) => loadFaultOf(base) ?? []), ...failed.map(({ reason }) => reason)];
}

/** Returns the reason why a base cannot answer; null if it can answer, now or after it is loaded. */
export function loadFaultOf({ engine, texts }: LoadableBase): string | null {
  return texts.fault ?? engine.loadFault;
}

/**
 * Requires that at least one base can answer.
 *
 * @throws ServiceError `unavailable` with all reasons
 */
export function requireOne(bases: readonly LoadableBase[], failed: readonly FailedBase[]): void {
  const faults = loadFaults(bases, failed);
  if (faults.length < bases.length + failed.length) return;
  const message = ["No base model is left to serve.", ...faults].join(" ");
  throw new ServiceError({ code: "unavailable", message });
}

/**
 * Removes the model's parent folders from a reason. Clients need not know the operator's paths, and the log has them.
 */
function withoutFolders(text: string, folder: string): string {
  const whole = resolve(folder);
  return text.replaceAll(`${dirname(whole)}${sep}`, "").replaceAll(whole, basename(whole));
}
