// Names of adapters in vLLM: one for each version and contents, never reused. vLLM's prefix cache is keyed by the
// name, so other weights under the same name would get the old weights' keys and values.
import { createHash } from "node:crypto";
import { resolve } from "node:path";
import type { AdapterReference } from "../../../base/domain/generation.ts";

/** Number of hash digits in a name: enough to distinguish the contents of adapters with one id. */
const digitCount = 16;

/** Returns `<id>@<first digits of its hash>`; if the hash is unknown, uses its folder's path instead. */
export function adapterName({ id, folder, hash }: AdapterReference): string {
  const ofFolder = (): string => createHash("sha256").update(resolve(folder)).digest("hex");
  return `${id}@${(hash ?? ofFolder()).slice(0, digitCount)}`;
}

/** Returns true if {@link adapterName} creates such names; adapters with other names belong to the operator. */
export function isAdapterName(name: string): boolean {
  return /:\d+@[0-9a-f]{16}$/.test(name);
}

/** Returns true for a name of this id, regardless of the contents in the name. */
export function isNameOf(name: string, id: string): boolean {
  return isAdapterName(name) && name.slice(0, -(digitCount + 1)) === id;
}
