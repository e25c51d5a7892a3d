// Base models that cannot be served: their entries in lists, their errors, and the check that one base is left.
import { basename, dirname, resolve, sep } from "node:path";
import type { BaseModel } from "../../../base/domain/model.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { loadFault } from "../../../inference/models/registry/named-base.ts";

/** A base model with missing, broken or unsupported files. The next start tries again. */
export interface FailedBase {
  readonly name: string;
  /** A sentence for people. */
  readonly reason: string;
}

/** Parts of a base that know why it cannot answer. */
interface LoadableBase {
  readonly engine: { readonly loadFault: string | null };
  readonly texts: { readonly fault: string | null };
}

/** @param error error of reading its files */
export function failedBase({ name, folder }: Pick<BaseModel, "name" | "folder">, error: unknown): FailedBase {
  const reason = withoutFolders(loadFault(error).message, folder);
  return { name, reason: `The model ${name} could not be loaded: ${reason}` };
}

/** Time before a client should retry: an operator has to act first. */
const retryAfterSeconds = 30;

/** Returns the error for requests to the base. */
export function failedBaseError(reason: string): ServiceError {
  return new ServiceError({
    code: "unavailable",
    obstacle: "unloaded-base",
    message: reason,
    retryAfterSeconds,
  });
}

/** Returns the reasons of bases that cannot answer, in the order of the bases, broken ones last. */
export function loadFaults(bases: readonly LoadableBase[], failed: readonly FailedBase[]): readonly string[] {
  return [...bases.flatMap((base) => loadFaultOf(base) ?? []), ...failed.map(({ reason }) => reason)];
}

/** Returns the reason why a base cannot answer; null if it can, or will once it is loaded. */
export function loadFaultOf({ engine, texts }: LoadableBase): string | null {
  return texts.fault ?? engine.loadFault;
}

/** @throws ServiceError `unavailable` with all reasons if no base can answer */
export function requireOne(bases: readonly LoadableBase[], failed: readonly FailedBase[]): void {
  const faults = loadFaults(bases, failed);
  if (faults.length < bases.length + failed.length) return;
  const message = ["No base model is left to serve.", ...faults].join(" ");
  throw new ServiceError({ code: "unavailable", message });
}

/** Removes folders from the reason: clients need not know the operator's paths, and the log has them. */
function withoutFolders(text: string, folder: string): string {
  const whole = resolve(folder);
  return text.replaceAll(`${dirname(whole)}${sep}`, "").replaceAll(whole, basename(whole));
}
