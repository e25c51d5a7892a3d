// Base models that cannot be served: what lists and requests are told of each, and when a server has none left.
import { basename, dirname, resolve, sep } from "node:path";
import type { BaseModel } from "../../../base/domain/model.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { loadFault } from "../../../inference/models/registry/named-base.ts";

/** A base model whose files are missing or broken, or that this program does not know. The next start tries again. */
export interface FailedBase {
  readonly name: string;
  /** A sentence for people. */
  readonly reason: string;
}

/** Parts of a base that say why it cannot answer. */
interface LoadableBase {
  readonly engine: { readonly loadFault: string | null };
  readonly texts: { readonly fault: string | null };
}

/** @param error what went wrong with its files */
export function failedBase({ name, folder }: Pick<BaseModel, "name" | "folder">, error: unknown): FailedBase {
  const reason = withoutFolders(loadFault(error).message, folder);
  return { name, reason: `The model ${name} could not be loaded: ${reason}` };
}

/** How long a client should wait before it asks again: the operator has to do something first. */
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

/** Reasons of the bases that cannot answer, in the order of the bases, those whose files are broken last. */
export function loadFaults(bases: readonly LoadableBase[], failed: readonly FailedBase[]): readonly string[] {
  return [...bases.flatMap((base) => loadFaultOf(base) ?? []), ...failed.map(({ reason }) => reason)];
}

/** Why a base cannot answer; null if it does, or will once it is loaded. */
export function loadFaultOf({ engine, texts }: LoadableBase): string | null {
  return texts.fault ?? engine.loadFault;
}

/** @throws ServiceError `unavailable` if none of them can answer, with all reasons */
export function requireOne(bases: readonly LoadableBase[], failed: readonly FailedBase[]): void {
  const faults = loadFaults(bases, failed);
  if (faults.length < bases.length + failed.length) return;
  const message = ["No base model is left to serve.", ...faults].join(" ");
  throw new ServiceError({ code: "unavailable", message });
}

/** Clients see the reason, and need not know where the operator's files lie; the log has the whole path. */
function withoutFolders(text: string, folder: string): string {
  const whole = resolve(folder);
  return text.replaceAll(`${dirname(whole)}${sep}`, "").replaceAll(whole, basename(whole));
}
