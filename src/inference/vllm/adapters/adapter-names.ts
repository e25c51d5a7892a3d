// Names of adapters in vLLM. Each version with certain contents has its own name, which is never reused: vLLM's prefix
// cache is keyed by the name, so a reused name would give new weights the keys and values of the old ones.
import { createHash } from "node:crypto";
import { resolve } from "node:path";
import type { AdapterReference } from "../../../base/domain/generation.ts";

/** Number of hash digits in a name: enough to distinguish the contents of adapters with one id. */
const digitCount = 16;

/**
 * Returns `<id>@<first digits of the adapter's hash>`; if that hash is unknown, uses the hash of the folder's path
 * instead.
 */
export function adapterName({ id, folder, hash }: AdapterReference): string {
  const ofFolder = (): string => createHash("sha256").update(resolve(folder)).digest("hex");
  return `${id}@${(hash ?? ofFolder()).slice(0, digitCount)}`;
}

/**
 * Returns true if {@link adapterName} creates names of this form. Adapters with other names were loaded by the
 * operator.
 */
export function isAdapterName(name: string): boolean {
  return /:\d+@[0-9a-f]{16}$/.test(name);
}

/** Returns true for a name of this id, regardless of the contents in the name. */
export function isNameOf(name: string, id: string): boolean {
  return isAdapterName(name) && name.slice(0, -(digitCount + 1)) === id;
}
