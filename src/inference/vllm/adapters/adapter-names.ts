// Names of adapters in vLLM. Each version with certain contents has its own name, which is never reused. vLLM's prefix
// cache is keyed by the name, so a reused name would give new weights the keys and values of old ones.
import { createHash } from "node:crypto";
import { resolve } from "node:path";
import type { AdapterReference } from "../../../base/domain/generation.ts";

/** Number of hash digits in a name. It is enough to distinguish the contents of adapters with the same id. */
const digitCount = 16;

/**
 * Returns `<id>@<first digits of the adapter's hash>`. If the hash is unknown, uses the hash of the folder's path
 * instead.
 */
export function adapterName({ id, folder, hash }: AdapterReference): string {
  const ofFolder = (): string => createHash("sha256").update(resolve(folder)).digest("hex");
  return `${id}@${(hash ?? ofFolder()).slice(0, digitCount)}`;
}

/** True if a name has the form of {@link adapterName}. Adapters with other names were loaded by the operator. */
export function isAdapterName(name: string): boolean {
  return /:\d+@[0-9a-f]{16}$/.test(name);
}

/** True if a name is that of an adapter with this id, regardless of the adapter's contents. */
export function isNameOf(name: string, id: string): boolean {
  return isAdapterName(name) && name.slice(0, -(digitCount + 1)) === id;
}
